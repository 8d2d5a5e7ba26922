// What a step is checked against: the inputs of one problem, size, pattern and seed, and the right answers.
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

// Outputs are filled with these bits, repeated, before a run. As a float of any size that is a signalling NaN, which any
// arithmetic turns into a quiet one; as int8 it is -128, as uint8 1. Whoever still finds it there knows that nothing was
// written: no input and no right answer has these bits, but for int32, int64 and uint8, which may be any.
constexpr std::uint64_t poison_of(Type type) {
  if (type == Type::int8) return 0x8080808080808080;
  if (type == Type::uint8) return 0x0101010101010101;
  if (type == Type::bfloat16) return 0x7f9d7f9d7f9d7f9d;
  return type == Type::float16 ? 0x7dad7dad7dad7dad : 0x7fa0dead7fa0dead;
}

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

// How much of the outputs is compared with right answers. Where that is not all of it, the rest need only have been
// written, and with finite numbers if the problem has no others on random data.
struct Sampling {
  double most_flops;          // for the answers, spread over the outputs
  std::size_t most_elements;  // of each output
};
constexpr Sampling kAllElements{std::numeric_limits<double>::infinity(), std::numeric_limits<std::size_t>::max()};

class Case {
 public:
  // `problem` must outlive the case. Without `answers` nothing is computed that only expect() needs.
  Case(const Problem& problem, Size size, Pattern pattern, std::uint64_t seed, bool answers = true,
       const Sampling& sampling = kAllElements)
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

  // +0 and -0 are equal, and a number where NaN is wanted is noted, not wrong.
  bool lenient = false;
  bool zeroed = false;  // outputs hold zeros before a run, not poison

  const Problem& problem() const { return *problem_; }
  const Size& size() const { return size_; }
  const Pattern& pattern() const { return pattern_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const unsigned char* host(std::size_t buffer) const { return host_[buffer].get(); }

  // The parts of a range of an output for which there are answers, in order.
  std::vector<Range> answered(const Range& range) const {
    const std::vector<Sampled>& all = sampled_[range.buffer];
    if (all.empty()) return {range};
    std::vector<Range> parts;
    for (auto s = first_behind(range.buffer, range.begin); s != all.end() && s->range.begin < range.end; ++s) {
      parts.push_back({range.buffer, std::max(range.begin, s->range.begin), std::min(range.end, s->range.end)});
    }
    return parts;
  }
  // Of how many elements of all outputs is there an answer, and of how many are there in all?
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

  // As Problem::in_any_order, of a step's own instance of the problem.
  std::size_t in_any_order(const Problem& problem, std::size_t buffer) const {
    return problem.in_any_order(*arrays_, size_, buffer);
  }

  // As Problem::expect, for any range.
  void compute(const Range& range, double* want, double* scale) const {
    problem_->expect(*arrays_, size_, range, want, scale);
  }

  // Has another instance of the problem, such as another step's, the same answers and scales? By four elements of each
  // output.
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

  // As Problem::expect, for a range that answered() gave; the answers for small outputs and samples are computed once.
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
  static constexpr std::size_t kPiece = 1 << 10;  // sampled elements side by side
  struct Cached {
    std::vector<double> want, scale;
  };
  struct Sampled {
    Range range;
    std::size_t at;  // of its answers in the cache
  };

  // The first sampled piece of which something is at or behind `element`.
  std::vector<Sampled>::const_iterator first_behind(std::size_t b, std::size_t element) const {
    return std::upper_bound(sampled_[b].begin(), sampled_[b].end(), element,
                            [](std::size_t at, const Sampled& s) { return at < s.range.end; });
  }

  // How many answers of output b may be asked for: at least a few pieces.
  std::size_t affordable_elements(std::size_t b, const Sampling& sampling) const {
    const double flops = problem_->flops(size_), count = static_cast<double>(buffers_[b].count);
    double most = std::min(count, static_cast<double>(sampling.most_elements));
    if (flops > sampling.most_flops) most = std::min(most, count * (sampling.most_flops / flops));
    return std::min(buffers_[b].count, std::max(static_cast<std::size_t>(most), 8 * kPiece));
  }

  // Picks the elements of output b that count, `most` of them: pieces spread evenly, each at a random place of its
  // share of the output, but for the first and the last one, which are at the ends.
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

  // Computes the answers for these ranges of output b.
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
  std::vector<std::vector<Sampled>> sampled_;  // of each buffer; none: all elements
};

}  // namespace ladder
