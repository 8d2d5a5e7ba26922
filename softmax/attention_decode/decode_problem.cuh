// What attention_decode and attention_decode_paged share: sizes, data, the right answer and its error bound.
// One query token per sequence. Its query head h attends to all keys of KV head h / groups of its own sequence:
//   s_j = sum_c q_c K_jc / sqrt(128),   out_c = sum_j exp(s_j - m) V_jc / sum_j exp(s_j - m),   m = max_j s_j.
// A sequence without keys gives 0. What lies in the cache beyond a sequence's length may be anything, NaN too.
#pragma once
#include "../attention_problem.cuh"

#include <cuda_bf16.h>

class DecodeProblem : public ladder::Problem {
 public:
  const char* family() const override { return "softmax"; }
  // keys: of the longest sequence. mixed = 1: lengths differ, from 0 up, where else all are equal.
  std::vector<ladder::Dim> dims() const override {
    return {{"sequences", 64, 3, 1 << 20},
            {"kv_heads", 8, 2, 1 << 20},
            {"groups", 4, 4, 1 << 20},
            {"keys", 4096, 131, (std::size_t{1} << 31) - 1024},
            {"mixed", 0, 0, 1}};
  }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_sampled_row(size[0] * size[1] * size[2], size[3], 2 * kWidth, element / kWidth);
  }

  // As AttentionProblem has it, for FP32 arithmetic: products of BF16 are exact, which the bound does not use. Its two
  // parts: gamma_r (sum p |V| / sum p + |out|), r a bound for the roundings in any order and with splits of the keys,
  // and what errors of the scores do. r follows from the sequence's own length.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    std::vector<__nv_bfloat16> keys, values;  // of the KV head of the row before
    std::size_t held = std::numeric_limits<std::size_t>::max();
    for (std::size_t begin = range.begin; begin < range.end;) {
      const std::size_t row = begin / kWidth, kv_head = row / size[2], end = std::min(range.end, (row + 1) * kWidth);
      double *w = want + (begin - range.begin), *s = scale + (begin - range.begin);
      std::fill(w, w + (end - begin), 0.0);
      std::fill(s, s + (end - begin), std::numeric_limits<double>::infinity());
      const auto length = static_cast<std::size_t>(host.at<const int>(kLengths)[kv_head / size[1]]);
      if (has_answer(size, begin)) {
        if (kv_head != held) gather(host, size, kv_head, length, keys, values);
        held = kv_head;
        auto* q = const_cast<__nv_bfloat16*>(host.at<const __nv_bfloat16>(0)) + row * kWidth;
        Reference::row(ladder::Arrays({q, keys.data(), values.data(), nullptr}), length,
                       {3, begin - row * kWidth, end - row * kWidth}, w, s);
      }
      begin = end;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, spread},
            {"last key", true, last_key},
            {"far below 0", false, far_below},
            {"large scores", false, large},
            {"equal scores", false, equal},
            {"NaN in last keys", false, nan_in<1>},
            {"NaN in last values", false, nan_in<2>}};
  }
  // A pattern's n is, for K and V, how many keys of the sequence follow this one.
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    if (buffer == kLengths) return static_cast<double>(length_of(size, i));
    if (buffer != 1 && buffer != 2) return pattern.value(seed, buffer, i, n);
    const Token token = token_of(size, i / (size[1] * kWidth));
    const std::size_t length = length_of(size, token.sequence);
    if (token.key >= length) return std::numeric_limits<double>::quiet_NaN();
    return pattern.value(seed, buffer, i, length - 1 - token.key);
  }

  double flops(const ladder::Size& size) const override {
    return 4.0 * kWidth * all_keys(size) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }
  // K and V once, whatever the number of query heads; q in, out as FP32, a length per sequence.
  double bytes(const ladder::Size& size) const override {
    const double kv = static_cast<double>(size[1]), sequences = static_cast<double>(size[0]);
    return 4.0 * kWidth * kv * all_keys(size) + sequences * (6.0 * kWidth * kv * static_cast<double>(size[2]) + 4);
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

 protected:
  static constexpr std::size_t kWidth = 128, kLengths = 3;
  struct Token {
    std::size_t sequence, key;
  };

  // Which token's K and V a slot of the cache, kv_heads rows of 128, is for. The data's view.
  virtual Token token_of(const ladder::Size& size, std::size_t slot) const = 0;
  // Where a token's K and V are, as the inputs say.
  virtual std::size_t slot_of(const ladder::Arrays& host, const ladder::Size& size, Token token) const = 0;

  // The first sequence has all keys; if lengths are mixed, the second has none.
  static std::size_t length_of(const ladder::Size& size, std::size_t sequence) {
    if (size[4] == 0 || sequence == 0) return size[3];
    return sequence == 1 ? 0 : ladder::hash(1, kLengths, sequence) % (size[3] + 1);
  }

  // q, K, V and lengths, with as many slots.
  static std::vector<ladder::Buffer> inputs(const ladder::Size& size, double slots) {
    const double heads = static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
    if (heads * kWidth > 1e12 || slots * static_cast<double>(size[1]) * kWidth > 1e12) {
      throw ladder::UsageError("--sequences: " + std::to_string(size[0]) + " sequences are too large");
    }
    const std::size_t q = size[0] * size[1] * size[2] * kWidth;
    const std::size_t cache = static_cast<std::size_t>(slots) * size[1] * kWidth;
    return {ladder::input<__nv_bfloat16>("q", q), ladder::input<__nv_bfloat16>("K", cache),
            ladder::input<__nv_bfloat16>("V", cache), ladder::input<int>("lengths", size[0])};
  }
  static ladder::Buffer result(const ladder::Size& size) {
    return ladder::output<float>("out", size[0] * size[1] * size[2] * kWidth);
  }

 private:
  struct Reference : AttentionProblem {
    // A range of one query's output, from q, K and V of its head alone.
    static void row(const ladder::Arrays& one, std::size_t length, const ladder::Range& range, double* want,
                    double* scale) {
      const double gu = static_cast<double>(kWidth + 4) * ladder::kUnitRoundoff;
      const double ru = static_cast<double>(any_roundings(length)) * ladder::kUnitRoundoff;
      const double gamma = ru < 0.01 ? ru / (1 - ru) : ru;
      const Rounding rounding = {gu / (1 - gu), std::numeric_limits<float>::denorm_min()};
      reference<__nv_bfloat16>(one, {1, 1, length, kWidth, 0}, range, want, scale, rounding,
                               [=](const Row& exact, std::size_t c, double& x) {
                                 x = exact.want[c];
                                 return gamma * (exact.magnitude[c] + std::fabs(x)) + exact.score_error[c];
                               });
    }
  };

  static double all_keys(const ladder::Size& size) {
    if (size[4] == 0) return static_cast<double>(size[0]) * static_cast<double>(size[3]);
    double sum = 0;
    for (std::size_t s = 0; s < size[0]; ++s) sum += static_cast<double>(length_of(size, s));
    return sum;
  }

  // K and V of a KV head of a sequence, kv_head counted over all sequences, one key after the other.
  void gather(const ladder::Arrays& host, const ladder::Size& size, std::size_t kv_head, std::size_t length,
              std::vector<__nv_bfloat16>& keys, std::vector<__nv_bfloat16>& values) const {
    keys.resize(length * kWidth);
    values.resize(length * kWidth);
    for (std::size_t j = 0; j < length; ++j) {
      const std::size_t row = slot_of(host, size, {kv_head / size[1], j}) * size[1] + kv_head % size[1];
      std::copy_n(host.at<const __nv_bfloat16>(1) + row * kWidth, kWidth, keys.begin() + j * kWidth);
      std::copy_n(host.at<const __nv_bfloat16>(2) + row * kWidth, kWidth, values.begin() + j * kWidth);
    }
  }

  static double uniform(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return ladder::patterns::random(seed, buffer, i, 0);
  }
  // Scores of some +-3, as those of a trained model.
  static double spread(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return (buffer == 0 ? 8 : 1) * uniform(seed, buffer, i);
  }
  // The last key's scores are 181 above the one before, and so on for 250 keys: it takes all, to the bit.
  static double last_key(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    if (buffer == 2) return ladder::patterns::integers(seed, buffer, i, left);
    return buffer == 0 ? 16.0 : -static_cast<double>(std::min<std::size_t>(left, 250));
  }
  // All scores some -140: what counts as 0 by mistake takes all.
  static double far_below(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    if (buffer == 0) return 12 + uniform(seed, buffer, i);
    return buffer == 1 ? -1 + uniform(seed, buffer, i) / 8 : uniform(seed, buffer, i);
  }
  // One key of two some +1400, the others some -1400.
  static double large(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    if (buffer == 0) return 125 + uniform(seed, buffer, i) / 8;
    if (buffer == 2) return uniform(seed, buffer, i);
    return (ladder::hash(seed, buffer, i / kWidth) % 2 ? 1 : -1) + uniform(seed, buffer, i) / 256;
  }
  static double equal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return buffer == 0 ? 0 : uniform(seed, buffer, i);
  }
  // In K: every second KV head is NaN. In V: one column of all.
  template <std::size_t kBuffer>
  static double nan_in(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    const bool here = buffer == kBuffer && left == 0 && i % (kBuffer == 1 ? 2 * kWidth : kWidth) == 5;
    return here ? std::numeric_limits<double>::quiet_NaN() : spread(seed, buffer, i, left);
  }
};
