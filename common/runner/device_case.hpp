// Holds a case's buffers on the device: with guard bands, offsets from alignment, poisoned outputs, and inputs watched
// for writes.
#pragma once
#include "comparison.hpp"
#include "cuda_helpers.cuh"
#ifdef CUDA_EMU
#include "cuda_emu/read_only.hpp"
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace ladder {

// Returns the 8 bytes that fill the guard bands of a buffer: NaN, or a huge integer, so that a value read past the end
// shows in a sum. As bytes they are four different numbers. Each buffer has its own value, as otherwise a copy that
// overruns could write one band onto an equal one unseen. The NaN is a signalling one, so arithmetic on a band cannot
// return its bits.
constexpr std::uint64_t guard_of(Type type, std::size_t buffer) {
  if (type == Type::float16) return 0x7d407d407d407d40 + 0x0001000100010001 * buffer;
  if (type == Type::bfloat16) return 0x7fa17fa17fa17fa1 + 0x0001000100010001 * buffer;
  return (type == Type::float32 ? 0x7fa5b0017fa5b001 : 0x7b1d5a017b1d5a01) + 0x0000000200000002 * buffer;
}
constexpr std::size_t kGuardBytes = 4096;

// How many elements past an aligned address each buffer starts: the same number for all, or one for each.
class Offsets {
 public:
  Offsets(std::size_t all = 0) : all_(all) {}
  explicit Offsets(std::vector<std::size_t> each) : each_(std::move(each)) {}
  std::size_t operator[](std::size_t buffer) const { return each_.empty() ? all_ : each_[buffer]; }

 private:
  std::size_t all_ = 0;
  std::vector<std::size_t> each_;
};

// "x + 1, y + 0"; empty if all buffers are aligned.
inline std::string describe(const Offsets& offsets, const std::vector<Buffer>& buffers) {
  std::string text;
  bool any = false;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    any |= offsets[b] > 0;
    text += (b > 0 ? ", " : "") + std::string(buffers[b].name) + " + " + std::to_string(offsets[b]);
  }
  return any ? text : "";
}

// Returns the misalignments to try: all buffers by 1, 2 or 3 elements; each buffer alone by 1 and by 2, which finds
// kernels that test only the other pointers, or test for 8 bytes where they need 16; neighbours by different amounts.
// Buffers of one element are never misaligned.
inline std::vector<Offsets> misalignments(const std::vector<Buffer>& buffers) {
  std::vector<std::size_t> arrays;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].count > 1) arrays.push_back(b);
  }
  std::vector<Offsets> all;
  const auto add = [&](const auto& offset_of) {
    std::vector<std::size_t> each(buffers.size());
    for (std::size_t a = 0; a < arrays.size(); ++a) each[arrays[a]] = offset_of(a);
    all.emplace_back(std::move(each));
  };
  for (std::size_t offset = 1; offset <= 3; ++offset) add([&](std::size_t) { return offset; });
  if (arrays.size() < 2) return all;
  for (std::size_t only = 0; only < arrays.size(); ++only) {
    for (std::size_t offset = 1; offset <= 2; ++offset) add([&](std::size_t a) { return a == only ? offset : 0; });
  }
  for (std::size_t first = 0; first <= 1; ++first) add([&](std::size_t a) { return (a + first) % 4; });
  return all;
}

// Uninitialised memory for one buffer in the given place, freed by the destructor. The host can access it directly,
// except device memory.
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

  // Works like memcpy. At least one side must be in this memory.
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
  // Allocates the case's buffers, each `offsets` elements past a 256-byte boundary (in pageable memory a 16-byte one).
  // With `guarded` there are guard bands before and after. Without, an allocation ends where its buffer ends, so that
  // AddressSanitizer and compute-sanitizer see an access past the end. The CPU backend, except in traces, sees it too:
  // the boundary is then a 16-byte one, and if the buffer also ends at one, an inaccessible page follows.
  DeviceCase(const Case& c, const Offsets& offsets, bool guarded, Place place = Place::device)
      : case_(&c), place_(place), guard_(guarded ? kGuardBytes : 0) {
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < c.buffers().size(); ++i) {
      const Buffer& b = c.buffers()[i];
      std::size_t before = guard_ + offsets[i] * bytes_of(b.type);
#if defined(CUDA_EMU) && !defined(CUDA_EMU_TRACE)  // a trace sees the buffer's end anywhere
      if (!guarded && place == Place::device) before += room_for_end_at_page(before + b.bytes());
#endif
      memory_.emplace_back(place, before + b.bytes() + guard_);
      data_.push_back(memory_.back().get() + before);
      pointers.push_back(data_.back());
    }
    arrays_ = std::make_unique<Arrays>(pointers);
    watched_.resize(memory_.size());
    reset();
  }

  const Case& host_case() const { return *case_; }
  Place place() const { return place_; }
  const Arrays& arrays() const { return *arrays_; }

  // Restores inputs, poison and guard bands.
  void reset() {
    for (std::size_t b = 0; b < memory_.size(); ++b) {
      const Buffer& buffer = case_->buffers()[b];
      first_write(b);
      fill_guards(b);
      if (buffer.role == Role::input) upload(b);
    }
    prepare();
  }

  // Loads the data of another case, of the same problem and size, into the same buffers. It must outlive this object.
  void load(const Case& c) {
    case_ = &c;
    reset();
  }

  // Poisons the outputs, restores inout buffers, and from now on watches the inputs for writes (CPU backend, device
  // memory).
  void prepare() {
    for (std::size_t b = 0; b < memory_.size(); ++b) {
      const Buffer& buffer = case_->buffers()[b];
      if (buffer.role == Role::inout) upload(b);
      if (buffer.role == Role::output && buffer.count > 0) poison(b);
#ifdef CUDA_EMU
      if (buffer.role == Role::input && place_ == Place::device) watched_[b] = cuda_emu::watch_writes(memory_[b].get());
#endif
    }
  }

  // Checks all buffers. `problem` is the step's own instance, which provides the tolerance.
  Verdict verdict(const Problem& problem) {
    const bool exact = case_->pattern().exact && problem.exact(case_->size());
    const double tolerance = exact ? 0 : problem.tolerance(case_->size());
    Verdict all;
    for (std::size_t b = 0; b < memory_.size() && all.ok(); ++b) {
      const Buffer& buffer = case_->buffers()[b];
      const bool watched = watched_[b] != 0;
      const Write write = first_write(b);
      if (watched && write.address == nullptr) continue;  // nothing was written, guard bands included
      all.failure = guard_failure(b);
      if (!all.ok()) break;
      if (buffer.role == Role::input) {
        all.failure = input_failure(b);
        if (all.ok() && watched) all.failure = write_failure(b, write);
      } else {
        const Verdict v = output_verdict(b, tolerance, case_->in_any_order(problem, b));
        all.worst = std::max(all.worst, v.worst);
        all.failure = v.failure;
        if (!all.excused) all.excused = v.excused;
      }
    }
    return all;
  }

 private:
  // Returns the multiple of 16 that lengthens an allocation of `bytes` to a page's end, or to less than 16 bytes before
  // it.
  static std::size_t room_for_end_at_page(std::size_t bytes) { return (256 - bytes % 256) % 256 / 16 * 16; }

  void upload(std::size_t b) {
    const std::size_t bytes = case_->buffers()[b].bytes();
    if (bytes > 0) memory_[b].copy(data_[b], case_->host(b), bytes, cudaMemcpyHostToDevice);
  }

  // Fills a buffer with its type's poison: the host copies the first word, then each copy on the device doubles it.
  void poison(std::size_t b) {
    const std::size_t bytes = case_->buffers()[b].bytes();
    const std::uint64_t word = case_->zeroed ? 0 : poison_of(case_->buffers()[b].type);
    memory_[b].copy(data_[b], &word, std::min(sizeof word, bytes), cudaMemcpyHostToDevice);
    for (std::size_t done = sizeof word; done < bytes; done *= 2) {
      memory_[b].copy(data_[b] + done, data_[b], std::min(done, bytes - done), cudaMemcpyDeviceToDevice);
    }
  }

  void fill_guards(std::size_t b) {
    const std::vector<unsigned char> guard = guard_bytes(b);
    unsigned char* begin = memory_[b].get();
    const auto before = static_cast<std::size_t>(data_[b] - begin);
    if (before > 0) memory_[b].copy(begin, guard.data(), before, cudaMemcpyHostToDevice);
    if (guard_ == 0) return;
    memory_[b].copy(begin + memory_[b].count() - guard_, guard.data(), guard_, cudaMemcpyHostToDevice);
  }

  // Returns the contents expected before buffer b. The guard band after it has the same contents, or fewer bytes of it.
  std::vector<unsigned char> guard_bytes(std::size_t b) const {
    const std::uint64_t word = guard_of(case_->buffers()[b].type, b);
    std::vector<unsigned char> bytes(data_[b] - memory_[b].get() + sizeof word);
    for (std::size_t i = 0; i + sizeof word <= bytes.size(); i += sizeof word) {
      std::memcpy(&bytes[i], &word, sizeof word);
    }
    return bytes;
  }

  // Ends the watch of an input. Returns its first write, or a null address.
  struct Write {
    const unsigned char* address = nullptr;
    std::string thread;
  };
  Write first_write(std::size_t b) {
    if (!std::exchange(watched_[b], 0)) return {};
#ifdef CUDA_EMU
    const cuda_emu::FirstWrite write = cuda_emu::stop_watching_writes(memory_[b].get());
    return {static_cast<const unsigned char*>(write.address), write.thread};
#else
    return {};
#endif
  }

  Failure failure_at(Failure::What what, std::size_t b, std::size_t index) const {
    return failure_in(case_->buffers(), b, what, index);
  }

  Failure write_failure(std::size_t b, const Write& write) const {
    if (write.address < data_[b]) return failure_at(Failure::What::before_start, b, data_[b] - write.address);
    const std::size_t index = (write.address - data_[b]) / bytes_of(case_->buffers()[b].type);
    Failure failure = failure_at(Failure::What::input_written, b, index);
    failure.message = write.thread;
    return failure;
  }

  static constexpr std::size_t kChunk = 64 << 20;  // bytes copied back at a time

  // Returns page-locked host memory: copies from the device to it are several times faster than to pageable memory. It
  // stays allocated.
  static unsigned char* staging(std::size_t bytes) {
    static std::unique_ptr<Memory> memory;
    bytes = std::max<std::size_t>(bytes, 1 << 20);  // page-locking is slow: avoid it for each small size
    if (!memory || memory->count() < bytes) {
      memory.reset();
      memory = std::make_unique<Memory>(Place::pinned, bytes);
    }
    return memory->get();
  }

  // Calls body(bytes, offset, count) for consecutive chunks of `bytes` of buffer b's memory from `device` on.
  template <typename Body>
  void for_chunks(std::size_t b, const unsigned char* device, std::size_t bytes, const Body& body) const {
    unsigned char* chunk = staging(std::min(bytes, kChunk));
    for (std::size_t at = 0; at < bytes; at += kChunk) {
      const std::size_t count = std::min(kChunk, bytes - at);
      memory_[b].copy(chunk, device + at, count, cudaMemcpyDeviceToHost);
      body(chunk, at, count);
    }
  }

  Verdict output_verdict(std::size_t b, double tolerance, std::size_t in_any_order) const {
    Comparison comparison(*case_, b, tolerance, in_any_order);
    const Buffer& buffer = case_->buffers()[b];
    for_chunks(b, data_[b], buffer.bytes(), [&](const unsigned char* got, std::size_t at, std::size_t count) {
      comparison.compare(got, at / bytes_of(buffer.type), count / bytes_of(buffer.type));
    });
    return comparison.verdict();
  }

  std::optional<Failure> input_failure(std::size_t b) const {
    const Buffer& buffer = case_->buffers()[b];
    std::atomic<std::size_t> first{buffer.bytes()};  // first byte that differs
    for_chunks(b, data_[b], buffer.bytes(), [&](const unsigned char* now, std::size_t at, std::size_t count) {
      const unsigned char* before = case_->host(b) + at;
      parallel_for(count, kCheckGrain, [&](std::size_t begin, std::size_t end) {
        if (std::memcmp(now + begin, before + begin, end - begin) == 0) return;
        const std::size_t byte = at + (std::mismatch(now + begin, now + end, before + begin).first - now);
        for (std::size_t seen = first; byte < seen && !first.compare_exchange_weak(seen, byte);) {
        }
      });
    });
    if (first == buffer.bytes()) return {};
    return failure_at(Failure::What::input_changed, b, first / bytes_of(buffer.type));
  }

  std::optional<Failure> guard_failure(std::size_t b) const {
    const Buffer& buffer = case_->buffers()[b];
    const std::size_t before = data_[b] - memory_[b].get();
    const std::vector<unsigned char> guard = guard_bytes(b);
    const auto touched = [&](const unsigned char* device, std::size_t bytes, std::size_t& first) {
      for_chunks(b, device, bytes, [&](const unsigned char* now, std::size_t, std::size_t count) {
        first = static_cast<std::size_t>(std::mismatch(now, now + count, guard.begin()).first - now);
      });
      return bytes > 0 && first < bytes;
    };
    std::size_t at = 0;
    if (touched(data_[b] + buffer.bytes(), guard_, at)) {
      return failure_at(Failure::What::past_end, b, buffer.count + at / bytes_of(buffer.type));
    }
    if (touched(memory_[b].get(), before, at)) {
      return failure_at(Failure::What::before_start, b, before - at);
    }
    return {};
  }

  const Case* case_;
  Place place_;
  std::size_t guard_;
  std::vector<Memory> memory_;
  std::vector<unsigned char*> data_;
  std::vector<char> watched_;  // inputs, between prepare() and verdict()
  std::unique_ptr<Arrays> arrays_;
};

}  // namespace ladder
