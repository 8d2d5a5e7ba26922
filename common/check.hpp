// Verification: does a step compute the right thing, write all of it, and write nothing else?
//
// A Case holds the inputs of one problem, size, pattern and seed, and what must come out. A DeviceCase is that case in
// device memory: between guard bands, optionally `offset` elements past an aligned address, outputs poisoned. check()
// runs a step on it and compares. One DeviceCase serves many steps.
#pragma once
#include "cuda_helpers.cuh"
#include "parallel.hpp"
#include "problem.hpp"

#include <cuda_fp16.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace ladder {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

// Outputs are filled with these bits, repeated, before a run. As float or half that is a signalling NaN, which any
// arithmetic turns into a quiet one: whoever still finds it there knows that nothing was written. No input and no right
// answer has these bits.
constexpr std::uint64_t poison_of(Type type) { return type == Type::float16 ? 0x7dad7dad7dad7dad : 0x7fa0dead7fa0dead; }

// The value of an element, in double, and its bits. 64-bit whole numbers are exact up to 2^53.
struct Element {
  double value;
  std::uint64_t bits;
};

template <typename T>
T load(const unsigned char* data, std::size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof value, sizeof value);
  return value;
}

inline Element load_element(Type type, const void* array, std::size_t i) {
  const auto* data = static_cast<const unsigned char*>(array);
  switch (type) {
    case Type::float32:
      return {load<float>(data, i), load<std::uint32_t>(data, i)};
    case Type::int32:
      return {static_cast<double>(load<std::int32_t>(data, i)), load<std::uint32_t>(data, i)};
    case Type::float16:
      return {__half2float(load<__half>(data, i)), load<std::uint16_t>(data, i)};
    case Type::int64:
      return {static_cast<double>(load<std::int64_t>(data, i)), load<std::uint64_t>(data, i)};
  }
  return {};
}

// Stores `value`, rounded to the type.
inline void store_element(Type type, void* array, std::size_t i, double value) {
  switch (type) {
    case Type::float32:
      static_cast<float*>(array)[i] = static_cast<float>(value);
      break;
    case Type::int32:
      static_cast<std::int32_t*>(array)[i] = static_cast<std::int32_t>(value);
      break;
    case Type::float16:
      static_cast<__half*>(array)[i] = __float2half(static_cast<float>(value));
      break;
    case Type::int64:
      static_cast<std::int64_t*>(array)[i] = static_cast<std::int64_t>(value);
      break;
  }
}

inline bool is_poison(Type type, const Element& element) {
  return element.bits == (poison_of(type) & (~std::uint64_t{0} >> (64 - 8 * bytes_of(type))));
}
// Each buffer's guard bands have their own byte, or a copy that overruns would copy one band onto another unseen.
constexpr unsigned char guard_byte(std::size_t buffer) { return static_cast<unsigned char>(0xa0 + buffer); }
constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kCheckGrain = 1 << 16;  // elements per piece of a parallel check

// The result of a check. `problem` is empty if all held, else one line: which buffer, indices, got, want, bound.
struct Verdict {
  std::string problem;
  double worst = 0;  // largest error over its bound; 0 where results must be bit-equal
  bool ok() const { return problem.empty(); }
};

inline std::string format(const char* text, double a) {
  if (std::isnan(a)) return "nan";  // printf may say -nan
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, text, a);
  return buffer;
}

class Case {
 public:
  // `problem` must outlive the case.
  Case(const Problem& problem, Size size, Pattern pattern, std::uint64_t seed)
      : problem_(&problem), size_(std::move(size)), pattern_(pattern), buffers_(problem.buffers(size_)) {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      // Left uninitialised on purpose: fill() touches the pages first, from several threads.
      const bool filled = buffers_[b].role != Role::output;
      host_.emplace_back(filled ? new unsigned char[buffers_[b].bytes()] : nullptr);
      if (filled) fill(b, seed);
    }
    std::vector<void*> pointers;
    for (auto& h : host_) pointers.push_back(h.get());
    arrays_ = std::make_unique<Arrays>(pointers, problem.digest(Arrays(pointers), size_));
    cached_.resize(buffers_.size());
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].role != Role::input && buffers_[b].count <= kCachedElements) cache(b);
    }
  }

  const Problem& problem() const { return *problem_; }
  const Size& size() const { return size_; }
  const Pattern& pattern() const { return pattern_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const unsigned char* host(std::size_t buffer) const { return host_[buffer].get(); }

  // As Problem::expect; the answers for small outputs are computed once.
  void expect(const Range& range, double* want, double* scale) const {
    const Cached& c = cached_[range.buffer];
    if (c.want.empty()) return problem_->expect(*arrays_, size_, range, want, scale);
    std::copy(c.want.begin() + range.begin, c.want.begin() + range.end, want);
    std::copy(c.scale.begin() + range.begin, c.scale.begin() + range.end, scale);
  }

 private:
  static constexpr std::size_t kCachedElements = 1 << 22;
  struct Cached {
    std::vector<double> want, scale;
  };

  void fill(std::size_t b, std::uint64_t seed) {
    const std::size_t n = buffers_[b].count;
    unsigned char* data = host_[b].get();
    parallel_for(n, kCheckGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        store_element(buffers_[b].type, data, i, pattern_.value(seed, b, i, n));
      }
    });
  }

  void cache(std::size_t b) {
    const std::size_t n = buffers_[b].count;
    std::vector<double> want(n), scale(n);
    parallel_for(n, kCheckGrain, [&](std::size_t begin, std::size_t end) {
      problem_->expect(*arrays_, size_, {b, begin, end}, want.data() + begin, scale.data() + begin);
    });
    cached_[b] = {std::move(want), std::move(scale)};
  }

  const Problem* problem_;
  Size size_;
  Pattern pattern_;
  std::vector<Buffer> buffers_;
  std::vector<std::unique_ptr<unsigned char[]>> host_;
  std::unique_ptr<Arrays> arrays_;
  std::vector<Cached> cached_;
};

// Compares `got`, elements [begin, begin + count) of output buffer `b`, with the case's answers. `tolerance` is the
// problem's, or 0 to ask for bit-equal results.
class Comparison {
 public:
  Comparison(const Case& c, std::size_t b, double tolerance) : case_(c), buffer_(b), tolerance_(tolerance) {}

  void compare(const void* got, std::size_t begin, std::size_t count) {
    parallel_for(count, kCheckGrain, [&](std::size_t from, std::size_t to) {
      std::vector<double> want(to - from), scale(to - from);
      case_.expect({buffer_, begin + from, begin + to}, want.data(), scale.data());
      Piece piece;
      for (std::size_t i = from; i < to; ++i) {
        const double s = scale[i - from];
        compare_element(got, i, begin + i, want[i - from], std::isinf(s) ? s : tolerance_ * s, piece);
      }
      merge(piece);
    });
  }

  Verdict verdict() const {
    if (wrong_ == 0) return {"", worst_};
    const Buffer& b = case_.buffers()[buffer_];
    const Wrong& first = shown_.front();
    std::string text = b.name + at(first) + " of " + std::to_string(b.count);
    if (first.unwritten) {
      text += " was never written (want " + format("%.9g", first.want) + ")";
    } else {
      text += " is wrong: got " + format("%.9g", first.got) + ", want " + format("%.9g", first.want);
      if (first.bound == 0) text += ", must be equal";
      if (first.bound > 0 && std::isfinite(first.got)) {
        text += ", error " + format("%.3g", std::fabs(first.got - first.want)) + " above bound " +
                format("%.3g", first.bound);
      }
    }
    if (wrong_ > 1) text += "; " + std::to_string(wrong_) + " are wrong in all, the next at";
    for (std::size_t i = 1; i < shown_.size(); ++i) text += " " + at(shown_[i]);
    return {text, worst_};
  }

 private:
  struct Wrong {
    std::size_t index = 0;
    double got = 0, want = 0, bound = 0;
    bool unwritten = false;
  };
  struct Piece {
    std::size_t wrong = 0;
    std::vector<Wrong> shown;
    double worst = 0;
  };
  static constexpr std::size_t kShown = 4;

  static std::string at(const Wrong& wrong) { return "[" + std::to_string(wrong.index) + "]"; }

  void compare_element(const void* got, std::size_t i, std::size_t index, double want, double bound,
                       Piece& piece) const {
    const Type type = case_.buffers()[buffer_].type;
    const Element element = load_element(type, got, i);
    const bool unwritten = is_poison(type, element);
    const bool whole = type == Type::int32 || type == Type::int64;
    const bool ok = whole ? element.value == want : acceptable(element.value, want, bound, piece.worst);
    if (ok && !unwritten) return;
    if (piece.wrong++ < kShown) piece.shown.push_back({index, element.value, want, bound, unwritten});
  }

  static bool acceptable(double got, double want, double bound, double& worst) {
    if (std::isnan(want)) return std::isnan(got);
    if (bound == 0 || std::isinf(want)) return got == want && std::signbit(got) == std::signbit(want);
    if (std::isinf(bound)) return std::isfinite(got);
    const double error = std::fabs(got - want);
    if (error / bound > worst) worst = error / bound;
    return error <= bound;  // false if `got` is NaN
  }

  void merge(const Piece& piece) {
    std::lock_guard<std::mutex> lock(mutex_);
    wrong_ += piece.wrong;
    shown_.insert(shown_.end(), piece.shown.begin(), piece.shown.end());
    std::sort(shown_.begin(), shown_.end(), [](const Wrong& a, const Wrong& b) { return a.index < b.index; });
    if (shown_.size() > kShown) shown_.resize(kShown);
    worst_ = std::max(worst_, piece.worst);
  }

  const Case& case_;
  std::size_t buffer_;
  double tolerance_;
  std::mutex mutex_;
  std::size_t wrong_ = 0;
  std::vector<Wrong> shown_;  // the first few, by index
  double worst_ = 0;
};

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

// Runs a step on fresh poison and says whether all is right. A CUDA error is a verdict too, and is cleared where that
// is possible. If the step damaged what later steps need, it is put back.
inline Verdict check(const Step& step, DeviceCase& device) {
  Verdict verdict;
  try {
    device.prepare_outputs();
    step.problem->run(device.arrays(), device.host_case().size());
    CUDA_CHECK(cudaDeviceSynchronize());
    verdict = device.verdict(*step.problem);
    if (!verdict.ok()) device.reset();
  } catch (const CudaError& error) {
    verdict.problem = error.what();
    cudaGetLastError();
#ifdef CUDA_EMU
    cudaDeviceReset();  // there, memory survives a reset
    device.reset();
#endif
  }
  return verdict;
}

inline bool is_shown(const Dim& dim, std::size_t value) { return dim.gpu_default > 0 || value > 0; }

// "n=1024", "m=8 k=16 alpha=1 beta=0"
inline std::string describe(const Problem& problem, const Size& size) {
  const std::vector<Dim> dims = problem.dims();
  const std::vector<Scalar> scalars = problem.scalars();
  std::string text;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (is_shown(dims[d], size[d])) text += " " + std::string(dims[d].name) + "=" + std::to_string(size[d]);
  }
  for (std::size_t s = 0; s < scalars.size(); ++s) {
    text += " " + std::string(scalars[s].name) + "=" + format("%g", size.scalars[s]);
  }
  return text.substr(1);
}

// The patterns to try at a size: all of the problem's, but at a large size only the first two.
inline std::vector<Pattern> patterns_for(const Problem& problem, const Size& size) {
  constexpr double large_bytes = 1 << 20;
  constexpr std::size_t when_large = 2;
  std::vector<Pattern> patterns = problem.patterns();
  if (problem.bytes(size) > large_bytes && patterns.size() > when_large) patterns.resize(when_large);
  return patterns;
}

// Does a device of compute capability `capability` (90 for 9.0) run what is compiled for `needs`? "sm_90" runs there
// and on all newer devices, "sm_90a" there alone.
inline bool meets(int capability, const std::string& needs) {
  if (needs.empty()) return true;
  const int wanted = std::stoi(needs.substr(std::strlen("sm_")));
  return needs.back() == 'a' ? capability == wanted : capability >= wanted;
}

// Takes the steps that the current device cannot run out of steps().
inline std::vector<Step> take_out_unsupported_steps() {
  int major = 0, minor = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  const auto first = std::stable_partition(steps().begin(), steps().end(),
                                           [&](const Step& step) { return meets(10 * major + minor, step.needs); });
  std::vector<Step> unsupported(std::make_move_iterator(first), std::make_move_iterator(steps().end()));
  steps().erase(first, steps().end());
  return unsupported;
}

// How check_all goes about it.
struct CheckPlan {
  std::vector<Size> sizes;
  std::vector<std::size_t> offsets = {0, 1};
  std::uint64_t seed = 1;
  bool guarded = !kAddressSanitizer;
};

// Checks `step` on every size and offset of the plan, with all patterns for that size; stops at the first failure,
// whose line names them.
inline Verdict check_all(const Step& step, const CheckPlan& plan, std::size_t* checks = nullptr) {
  Verdict all;
  for (const Size& size : plan.sizes) {
    for (const Pattern& pattern : patterns_for(*step.problem, size)) {
      const Case host(*step.problem, size, pattern, plan.seed);
      for (const std::size_t offset : plan.offsets) {
        DeviceCase device(host, offset, plan.guarded, step.problem->place());
        const Verdict v = check(step, device);
        if (checks) ++*checks;
        all.worst = std::max(all.worst, v.worst);
        if (v.ok()) continue;
        all.problem = describe(*step.problem, size) + ", " + pattern.name + " data" +
                      (offset ? ", pointers + " + std::to_string(offset) : "") + ": " + v.problem;
        return all;
      }
    }
  }
  return all;
}

}  // namespace ladder
