// A case's buffers on the device: between guard bands, optionally off their alignment, outputs poisoned.
#pragma once
#include "comparison.hpp"
#include "cuda_helpers.cuh"

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

namespace ladder {

// Each buffer's guard bands have their own byte, or a copy that overruns would copy one band onto another unseen.
constexpr unsigned char guard_byte(std::size_t buffer) { return static_cast<unsigned char>(0xa0 + buffer); }
constexpr std::size_t kGuardBytes = 4096;

// Uninitialised memory for one buffer, in the place that a step wants, freed with its owner. The host may use all but
// device memory directly.
class Memory {
 public:
  Memory(Place place, std::size_t bytes) : place_(place), bytes_(bytes) {
    const std::size_t some = std::max<std::size_t>(bytes, 1);
    switch (place) {
      case Place::device:
        CUDA_CHECK(cudaMalloc(&data_, bytes));
        break;
      case Place::pageable:
        data_ = std::malloc(some);
        break;
      case Place::pinned:
        CUDA_CHECK(cudaMallocHost(&data_, some));
        break;
      case Place::managed:
        CUDA_CHECK(cudaMallocManaged(&data_, some));
        break;
    }
    if (data_ == nullptr && bytes > 0) throw std::bad_alloc();
  }
  Memory(Memory&& other) noexcept
      : place_(other.place_), bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    if (place_ == Place::pageable) {
      std::free(data_);
    } else if (place_ == Place::pinned) {
      cudaFreeHost(data_);
    } else {
      cudaFree(data_);
    }
  }

  unsigned char* get() const { return static_cast<unsigned char*>(data_); }
  std::size_t count() const { return bytes_; }

  // As memset and memcpy, where one side is (or both are) of this memory.
  void set(void* to, int value, std::size_t bytes) const {
    if (place_ == Place::device) {
      CUDA_CHECK(cudaMemset(to, value, bytes));
    } else {
      std::memset(to, value, bytes);
    }
  }
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    if (place_ == Place::device) {
      CUDA_CHECK(cudaMemcpy(to, from, bytes, kind));
    } else {
      std::memcpy(to, from, bytes);
    }
  }

 private:
  Place place_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

class DeviceCase {
 public:
  // Puts the case's buffers into device memory or another place, each `offset` elements past a 256-byte boundary (in
  // pageable memory, a 16-byte one). With `guarded` there are guard bands before and after; without, an allocation ends
  // where its buffer ends, so that memory checkers (AddressSanitizer, compute-sanitizer) see an access past the end.
  DeviceCase(const Case& c, std::size_t offset, bool guarded, Place place = Place::device)
      : case_(&c), place_(place), guard_(guarded ? kGuardBytes : 0) {
    std::vector<void*> pointers;
    for (const Buffer& b : c.buffers()) {
      const std::size_t before = guard_ + offset * bytes_of(b.type);
      memory_.emplace_back(place, before + b.bytes() + guard_);
      data_.push_back(memory_.back().get() + before);
      pointers.push_back(data_.back());
    }
    arrays_ = std::make_unique<Arrays>(pointers);
    reset();
  }

  const Case& host_case() const { return *case_; }
  Place place() const { return place_; }
  const Arrays& arrays() const { return *arrays_; }

  // Puts inputs, poison and guard bands (back) in place.
  void reset() {
    for (std::size_t b = 0; b < memory_.size(); ++b) {
      const Buffer& buffer = case_->buffers()[b];
      unsigned char* begin = memory_[b].get();
      unsigned char* end = begin + memory_[b].count();
      memory_[b].set(begin, guard_byte(b), data_[b] - begin);
      memory_[b].set(end - guard_, guard_byte(b), guard_);
      if (buffer.role == Role::input) upload(b);
    }
    prepare_outputs();
  }

  // Poisons the outputs; gives those that are inputs too their initial values.
  void prepare_outputs() {
    for (std::size_t b = 0; b < memory_.size(); ++b) {
      const Buffer& buffer = case_->buffers()[b];
      if (buffer.role == Role::inout) upload(b);
      if (buffer.role == Role::output && buffer.count > 0) poison(b);
    }
  }

  // Is everything right now? `problem` gives the tolerance (the step's own instance).
  Verdict verdict(const Problem& problem) const {
    const bool exact = case_->pattern().exact && problem.exact(case_->size());
    const double tolerance = exact ? 0 : problem.tolerance(case_->size());
    Verdict all;
    for (std::size_t b = 0; b < memory_.size() && all.ok(); ++b) {
      const Buffer& buffer = case_->buffers()[b];
      all.problem = guard_problem(b);
      if (!all.ok()) break;
      if (buffer.role == Role::input) {
        all.problem = input_problem(b);
      } else {
        const Verdict v = output_verdict(b, tolerance);
        all.problem = v.problem;
        all.worst = std::max(all.worst, v.worst);
      }
    }
    return all;
  }

 private:
  void upload(std::size_t b) {
    const std::size_t bytes = case_->buffers()[b].bytes();
    if (bytes > 0) memory_[b].copy(data_[b], case_->host(b), bytes, cudaMemcpyHostToDevice);
  }

  // Fills a buffer with its type's poison: the first by the host, then each copy doubles what is there.
  void poison(std::size_t b) {
    const std::size_t bytes = case_->buffers()[b].bytes();
    const std::uint64_t word = poison_of(case_->buffers()[b].type);
    memory_[b].copy(data_[b], &word, std::min(sizeof word, bytes), cudaMemcpyHostToDevice);
    for (std::size_t done = sizeof word; done < bytes; done *= 2) {
      memory_[b].copy(data_[b] + done, data_[b], std::min(done, bytes - done), cudaMemcpyDeviceToDevice);
    }
  }

  static constexpr std::size_t kChunk = 64 << 20;  // bytes copied back at a time

  // Page-locked host memory, to which the device copies several times faster than to pageable memory. It stays
  // allocated.
  static unsigned char* staging(std::size_t bytes) {
    static std::unique_ptr<Memory> memory;
    bytes = std::max<std::size_t>(bytes, 1 << 20);  // page-locking is slow: not again for every small size
    if (!memory || memory->count() < bytes) {
      memory.reset();
      memory = std::make_unique<Memory>(Place::pinned, bytes);
    }
    return memory->get();
  }

  // Calls body(bytes, offset, count) for consecutive chunks of buffer b's memory.
  template <typename Body>
  void for_chunks(std::size_t b, const unsigned char* device, std::size_t bytes, const Body& body) const {
    unsigned char* chunk = staging(std::min(bytes, kChunk));
    for (std::size_t at = 0; at < bytes; at += kChunk) {
      const std::size_t count = std::min(kChunk, bytes - at);
      memory_[b].copy(chunk, device + at, count, cudaMemcpyDeviceToHost);
      body(chunk, at, count);
    }
  }

  Verdict output_verdict(std::size_t b, double tolerance) const {
    Comparison comparison(*case_, b, tolerance);
    const Buffer& buffer = case_->buffers()[b];
    for_chunks(b, data_[b], buffer.bytes(), [&](const unsigned char* got, std::size_t at, std::size_t count) {
      comparison.compare(got, at / bytes_of(buffer.type), count / bytes_of(buffer.type));
    });
    return comparison.verdict();
  }

  std::string input_problem(std::size_t b) const {
    const Buffer& buffer = case_->buffers()[b];
    std::atomic<std::size_t> first{buffer.bytes()};  // byte that differs
    for_chunks(b, data_[b], buffer.bytes(), [&](const unsigned char* now, std::size_t at, std::size_t count) {
      const unsigned char* before = case_->host(b) + at;
      parallel_for(count, kCheckGrain, [&](std::size_t begin, std::size_t end) {
        if (std::memcmp(now + begin, before + begin, end - begin) == 0) return;
        const std::size_t byte = at + (std::mismatch(now + begin, now + end, before + begin).first - now);
        for (std::size_t seen = first; byte < seen && !first.compare_exchange_weak(seen, byte);) {
        }
      });
    });
    if (first == buffer.bytes()) return "";
    return "the input " + std::string(buffer.name) + " was changed, first at index " +
           std::to_string(first / bytes_of(buffer.type));
  }

  std::string guard_problem(std::size_t b) const {
    const Buffer& buffer = case_->buffers()[b];
    const std::size_t before = data_[b] - memory_[b].get();
    const auto touched = [&](const unsigned char* device, std::size_t bytes, std::size_t& first) {
      bool found = false;
      for_chunks(b, device, bytes, [&](const unsigned char* now, std::size_t at, std::size_t count) {
        for (std::size_t i = 0; i < count && !found; ++i) {
          if (now[i] != guard_byte(b)) first = at + i, found = true;
        }
      });
      return found;
    };
    std::size_t at = 0;
    if (touched(data_[b] + buffer.bytes(), guard_, at)) {
      return std::string(buffer.name) + " was written past its end, at index " +
             std::to_string(buffer.count + at / bytes_of(buffer.type)) + " of " + std::to_string(buffer.count);
    }
    if (touched(memory_[b].get(), before, at)) {
      return std::string(buffer.name) + " was written before its start, " + std::to_string(before - at) + " bytes";
    }
    return "";
  }

  const Case* case_;
  Place place_;
  std::size_t guard_;
  std::vector<Memory> memory_;
  std::vector<unsigned char*> data_;
  std::unique_ptr<Arrays> arrays_;
};

}  // namespace ladder
