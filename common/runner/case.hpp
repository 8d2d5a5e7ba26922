// What a step is checked against: the inputs of one problem, size, pattern and seed, and the right answers.
#pragma once
#include "parallel.hpp"
#include "problem.hpp"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace ladder {

constexpr std::size_t kCheckGrain = 1 << 16;  // elements per piece of a parallel check

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

class Case {
 public:
  // `problem` must outlive the case. Without `answers` nothing is computed that only expect() needs.
  Case(const Problem& problem, Size size, Pattern pattern, std::uint64_t seed, bool answers = true)
      : problem_(&problem), size_(std::move(size)), pattern_(pattern), buffers_(problem.buffers(size_)) {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      // Left uninitialised on purpose: fill() touches the pages first, from several threads.
      const bool filled = buffers_[b].role != Role::output;
      host_.emplace_back(filled ? new unsigned char[buffers_[b].bytes()] : nullptr);
      if (filled) fill(b, seed);
    }
    std::vector<void*> pointers;
    for (auto& h : host_) pointers.push_back(h.get());
    cached_.resize(buffers_.size());
    if (!answers) return;
    arrays_ = std::make_unique<Arrays>(pointers, problem.digest(Arrays(pointers), size_));
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

}  // namespace ladder
