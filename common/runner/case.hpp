// The inputs of a problem at one size, pattern and seed, and the expected results.
#pragma once
#include "parallel.hpp"
#include "problem.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace ladder {

constexpr std::size_t kCheckGrain = 1 << 16;  // elements per piece of a parallel check

// Outputs are filled with these bits before a run. As a float of any width they are a signalling NaN, which arithmetic
// turns into a quiet one; as int8 -128, as uint8 1. An output that still has them was not written: no input and no
// expected result has these bits, except those of int32, int64 and uint8, which may have any.
constexpr std::uint64_t poison_of(Type type) {
  if (type == Type::int8) return 0x8080808080808080;
  if (type == Type::uint8) return 0x0101010101010101;
  if (type == Type::bfloat16) return 0x7f9d7f9d7f9d7f9d;
  return type == Type::float16 ? 0x7dad7dad7dad7dad : 0x7fa0dead7fa0dead;
}

// An element's value in double, and its bits. 64-bit integers are exact up to 2^53.
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
    case Type::bfloat16:
      return {__bfloat162float(load<__nv_bfloat16>(data, i)), load<std::uint16_t>(data, i)};
    case Type::int64:
      return {static_cast<double>(load<std::int64_t>(data, i)), load<std::uint64_t>(data, i)};
    case Type::int8:
      return {static_cast<double>(load<std::int8_t>(data, i)), load<std::uint8_t>(data, i)};
    case Type::uint8:
      return {static_cast<double>(load<std::uint8_t>(data, i)), load<std::uint8_t>(data, i)};
  }
  return {};
}

// Stores `value`, rounded to `type`.
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
    case Type::bfloat16:
      static_cast<__nv_bfloat16*>(array)[i] = __double2bfloat16(value);
      break;
    case Type::int64:
      static_cast<std::int64_t*>(array)[i] = static_cast<std::int64_t>(value);
      break;
    case Type::int8:
      static_cast<std::int8_t*>(array)[i] = static_cast<std::int8_t>(value);
      break;
    case Type::uint8:
      static_cast<std::uint8_t*>(array)[i] = static_cast<std::uint8_t>(value);
      break;
  }
}

inline bool is_poison(Type type, const Element& element) {
  return element.bits == (poison_of(type) & (~std::uint64_t{0} >> (64 - 8 * bytes_of(type))));
}

// Limits how much of the outputs is compared with expected values. The rest must only have been written, and be finite
// if all results on random data are.
struct Sampling {
  double most_flops;          // for the expected values, spread over the outputs
  std::size_t most_elements;  // of each output
};
constexpr Sampling kAllElements{std::numeric_limits<double>::infinity(), std::numeric_limits<std::size_t>::max()};

class Case {
 public:
  // `problem` must outlive the case. Without `answers` the host computes no digest and no expected values.
  Case(const Problem& problem, Size size, Pattern pattern, std::uint64_t seed, bool answers = true,
       const Sampling& sampling = kAllElements)
      : problem_(&problem), size_(std::move(size)), pattern_(pattern), buffers_(problem.buffers(size_)) {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      // Left uninitialised on purpose: fill() touches the pages first, on several threads.
      const bool filled = buffers_[b].role != Role::output;
      host_.emplace_back(filled ? new unsigned char[buffers_[b].bytes()] : nullptr);
      if (filled) fill(b, seed);
    }
    std::vector<void*> pointers;
    for (auto& h : host_) pointers.push_back(h.get());
    cached_.resize(buffers_.size());
    sampled_.resize(buffers_.size());
    if (!answers) return;
    arrays_ = std::make_unique<Arrays>(pointers, problem.digest(Arrays(pointers), size_));
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].role == Role::input) continue;
      const std::size_t most = affordable_elements(b, sampling);
      if (most < buffers_[b].count) {
        sample(b, most, seed);
      } else if (buffers_[b].count <= kCachedElements) {
        std::vector<Range> pieces;
        for (std::size_t i = 0; i < buffers_[b].count; i += kCheckGrain) {
          pieces.push_back({b, i, std::min(buffers_[b].count, i + kCheckGrain)});
        }
        cache(b, pieces);
      }
    }
  }

  // If set, +0 equals -0, and a number where NaN is expected is noted but not wrong.
  bool lenient = false;
  bool zeroed = false;  // outputs hold zeros before a run, instead of poison

  const Problem& problem() const { return *problem_; }
  const Size& size() const { return size_; }
  const Pattern& pattern() const { return pattern_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const unsigned char* host(std::size_t buffer) const { return host_[buffer].get(); }

  // Returns the parts of an output's range that have answers, in order.
  std::vector<Range> answered(const Range& range) const {
    const std::vector<Sampled>& all = sampled_[range.buffer];
    if (all.empty()) return {range};
    std::vector<Range> parts;
    for (auto s = first_behind(range.buffer, range.begin); s != all.end() && s->range.begin < range.end; ++s) {
      parts.push_back({range.buffer, std::max(range.begin, s->range.begin), std::min(range.end, s->range.end)});
    }
    return parts;
  }
  // Returns how many elements of all outputs have an answer, and how many elements there are.
  std::pair<std::size_t, std::size_t> answered_and_all() const {
    std::size_t answered = 0, all = 0;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].role == Role::input) continue;
      all += buffers_[b].count;
      if (sampled_[b].empty()) answered += buffers_[b].count;
      for (const Sampled& s : sampled_[b]) answered += s.range.end - s.range.begin;
    }
    return {answered, all};
  }

  // Calls Problem::in_any_order() of a step's own instance.
  std::size_t in_any_order(const Problem& problem, std::size_t buffer) const {
    return problem.in_any_order(*arrays_, size_, buffer);
  }

  // Calls Problem::expect() for any range.
  void compute(const Range& range, double* want, double* scale) const {
    problem_->expect(*arrays_, size_, range, want, scale);
  }

  // Returns true if another instance of the problem, such as another step's, has the same answers and scales. Tests
  // four elements of each output.
  bool holds_for(const Problem& other) const {
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const std::size_t count = buffers_[b].count;
      if (buffers_[b].role == Role::input || count == 0) continue;
      for (const std::size_t i : {std::size_t{0}, count / 3, count / 3 * 2, count - 1}) {
        const Range element = {b, i, i + 1};
        double want[2], scale[2];
        compute(element, &want[0], &scale[0]);
        other.expect(*arrays_, size_, element, &want[1], &scale[1]);
        if (std::memcmp(&want[0], &want[1], sizeof(double)) != 0 || scale[0] != scale[1]) return false;
      }
    }
    return true;
  }

  // Like Problem::expect(), for a range from answered(). Answers of small outputs and of samples are computed once.
  void expect(const Range& range, double* want, double* scale) const {
    const Cached& c = cached_[range.buffer];
    if (c.want.empty()) return compute(range, want, scale);
    std::size_t at = range.begin;
    if (!sampled_[range.buffer].empty()) {
      const Sampled& s = *first_behind(range.buffer, range.begin);
      at = s.at + (range.begin - s.range.begin);
    }
    const std::size_t end = at + (range.end - range.begin);
    std::copy(c.want.begin() + at, c.want.begin() + end, want);
    std::copy(c.scale.begin() + at, c.scale.begin() + end, scale);
  }

 private:
  static constexpr std::size_t kCachedElements = 1 << 22;
  static constexpr std::size_t kPiece = 1 << 10;  // consecutive elements per sample
  struct Cached {
    std::vector<double> want, scale;
  };
  struct Sampled {
    Range range;
    std::size_t at;  // index of its answers in the cache
  };

  // Returns the first sampled piece that ends after `element`.
  std::vector<Sampled>::const_iterator first_behind(std::size_t b, std::size_t element) const {
    return std::upper_bound(sampled_[b].begin(), sampled_[b].end(), element,
                            [](std::size_t at, const Sampled& s) { return at < s.range.end; });
  }

  // Returns how many answers of output b may be computed: at least those of 8 pieces.
  std::size_t affordable_elements(std::size_t b, const Sampling& sampling) const {
    const double flops = problem_->flops(size_), count = static_cast<double>(buffers_[b].count);
    double most = std::min(count, static_cast<double>(sampling.most_elements));
    if (flops > sampling.most_flops) most = std::min(most, count * (sampling.most_flops / flops));
    return std::min(buffers_[b].count, std::max(static_cast<std::size_t>(most), 8 * kPiece));
  }

  // Picks about `most` elements of output b to compare: one piece at a random position in each equal share of the
  // output, except that the first piece is at the start and the last one at the end.
  void sample(std::size_t b, std::size_t most, std::uint64_t seed) {
    constexpr std::size_t tries = 1000;  // to find an element with an answer
    const std::size_t n = buffers_[b].count, pieces = most / kPiece, share = n / pieces;
    std::vector<Range> ranges;
    std::size_t total = 0;
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t from = p * share, room = share - std::min(share, kPiece) + 1;
      std::size_t begin = p == 0 ? 0 : p + 1 == pieces ? n - kPiece : from + hash(seed, b, p) % room;
      for (std::size_t i = 0; i < tries && !problem_->has_answer(size_, begin); ++i) {
        begin = from + hash(seed + i + 1, b, p) % room;
      }
      if (!ranges.empty()) begin = std::max(begin, ranges.back().end);
      const std::size_t end = std::min(n, begin + kPiece);
      if (begin >= end) continue;
      ranges.push_back({b, begin, end});
      sampled_[b].push_back({ranges.back(), total});
      total += end - begin;
    }
    cache(b, ranges);
  }

  void fill(std::size_t b, std::uint64_t seed) {
    const std::size_t n = buffers_[b].count;
    unsigned char* data = host_[b].get();
    parallel_for(n, kCheckGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        store_element(buffers_[b].type, data, i, problem_->element(size_, pattern_, seed, b, i, n));
      }
    });
  }

  // Computes and stores the answers for these ranges of output b.
  void cache(std::size_t b, const std::vector<Range>& ranges) {
    std::vector<std::size_t> at{0};
    for (const Range& range : ranges) at.push_back(at.back() + (range.end - range.begin));
    std::vector<double> want(at.back()), scale(at.back());
    parallel_for(ranges.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        problem_->expect(*arrays_, size_, ranges[r], want.data() + at[r], scale.data() + at[r]);
      }
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
  std::vector<std::vector<Sampled>> sampled_;  // per buffer; empty: all elements have answers
};

}  // namespace ladder
