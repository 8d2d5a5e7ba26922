// Base of the attention_decode kernels: sizes, data, the reference and its error bound.
// One query token per sequence. Query head h attends to all keys of KV head h / groups of its own sequence:
//   s_j = sum_c q_c K_jc / sqrt(128),   out_c = sum_j exp(s_j - m) V_jc / sum_j exp(s_j - m),   m = max_j s_j.
// A sequence without keys gives 0. The cache beyond a sequence's length may hold anything, including NaN.
#pragma once
#include "../attention_problem.cuh"

#include <cuda_bf16.h>

class DecodeProblem : public ladder::Problem {
 public:
  // on_tensor_cores: the step sums products on tensor cores.
  explicit DecodeProblem(bool on_tensor_cores = false) : on_tensor_cores_(on_tensor_cores) {}

  const char* family() const override { return "softmax"; }
  // keys: length of the longest sequence. mixed = 1: lengths differ, from 0 up; otherwise all are equal.
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

  // The bound of AttentionProblem for FP32 arithmetic; it does not use that products of BF16 are exact. Its two parts
  // are gamma_r (sum p |V| / sum p + |out|), where r bounds the roundings for any order and any splits, and the effect
  // of the scores' errors. r follows from the sequence's own length.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    std::vector<float> keys, values, query(kWidth);  // of the previous row's KV head
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
        std::copy_n(host.at<const __nv_bfloat16>(0) + row * kWidth, kWidth, query.begin());
        Reference::row(ladder::Arrays({query.data(), keys.data(), values.data(), nullptr}), length, errors(length),
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
  // For K and V a pattern's n is the number of keys that follow this one in its sequence.
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
  // Counts K and V once, whatever the number of query heads; q, out as FP32, and a length per sequence.
  double bytes(const ladder::Size& size) const override {
    const double kv = static_cast<double>(size[1]), sequences = static_cast<double>(size[0]);
    return bytes_of_key() * kv * all_keys(size) + sequences * (6.0 * kWidth * kv * static_cast<double>(size[2]) + 4);
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }

  // Sizes without pages: empty; one key, one head; around the keys that a warp has in flight; groups that are not a
  // power of 2, or above 8; keys for several splits.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 2, 4, 5, 0},    {3, 0, 4, 5, 0},   {3, 2, 0, 5, 0},    {3, 2, 4, 0, 0},   {1, 1, 1, 1, 0},
            {2, 1, 1, 2, 1},    {3, 2, 4, 3, 0},   {2, 3, 2, 7, 0},    {3, 1, 8, 8, 1},   {2, 2, 3, 9, 0},
            {5, 1, 4, 15, 1},   {4, 2, 1, 16, 1},  {1, 2, 7, 17, 0},   {2, 1, 5, 31, 0},  {2, 2, 4, 33, 0},
            {1, 1, 12, 64, 0},  {6, 1, 2, 65, 1},  {1, 1, 17, 100, 0}, {4, 2, 3, 131, 1}, {1, 3, 4, 300, 0},
            {3, 1, 2, 1100, 1}, {1, 1, 1, 2105, 0}};
  }
  // More than 2^31 elements in K alone, in one long sequence; then in K, V, q and out, in many sequences.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{1, 8, 4, (1 << 21) + 35, 0}, {(1 << 19) + 3, 8, 4, 5, 1}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{64, 8, 4, 4096, 0},  {64, 8, 8, 4096, 0},  {64, 32, 1, 1024, 0},
            {256, 8, 4, 2048, 1}, {1, 8, 4, 131072, 0}, {4, 8, 4, 4096, 0}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t groups = 1 + draw.below(16);
    return draw_lengths(draw, bytes, {0, 0, groups, 0, draw.below(2)});
  }

 protected:
  static constexpr std::size_t kWidth = 128, kLengths = 3;
  struct Token {
    std::size_t sequence, key;
  };
  // In unit roundoffs: the error of a score, relative to sum |q K| / sqrt(128), and of a term of sum p V or sum p.
  // underflow: what a p may lose by underflow.
  struct Errors {
    double score;
    std::size_t term;
    double underflow;
  };
  // On tensor cores a score is off by tensor_core_gamma(128), its scale and product, and a sum of two parts. p is split
  // into three BF16 numbers, which lose bits below 2^-133. Each of their products with V costs 2.5 u, plus 2.5 u for a
  // partly filled group.
  virtual Errors errors(std::size_t keys) const {
    const std::size_t roundings = AttentionProblem::any_roundings(keys);
    if (!on_tensor_cores_) return {kWidth + 4, roundings, std::numeric_limits<float>::denorm_min()};
    return {2.5 * kWidth + 9, roundings + 8 * (keys + 1), std::numeric_limits<float>::min()};
  }
  virtual double bytes_of_key() const { return 4.0 * kWidth; }  // in K and V, for one KV head

  // Returns the token that a slot of the cache, kv_heads rows of 128, belongs to. Used to generate data.
  virtual Token token_of(const ladder::Size& size, std::size_t slot) const { return {slot / size[3], slot % size[3]}; }
  // Returns the slot of a token's K and V, according to the inputs.
  virtual std::size_t slot_of(const ladder::Arrays&, const ladder::Size& size, Token token) const {
    return token.sequence * size[3] + token.key;
  }
  // Reads a row of K (buffer 1) or V (2), as exactly the numbers that it represents.
  virtual void read_row(const ladder::Arrays& host, const ladder::Size& size, std::size_t buffer, Token token,
                        std::size_t kv_head, float* to) const {
    const std::size_t row = slot_of(host, size, token) * size[1] + kv_head;
    std::copy_n(host.at<const __nv_bfloat16>(buffer) + row * kWidth, kWidth, to);
  }

  // Returns a sequence's length. The first one has all keys; if lengths are mixed, the second has none.
  static std::size_t length_of(const ladder::Size& size, std::size_t sequence) {
    if (size[4] == 0 || sequence == 0) return size[3];
    return sequence == 1 ? 0 : ladder::hash(1, kLengths, sequence) % (size[3] + 1);
  }

  // Returns q, K, V and lengths. K and V have `slots` slots of elements T.
  template <typename T = __nv_bfloat16>
  static std::vector<ladder::Buffer> inputs(const ladder::Size& size, double slots) {
    const double heads = static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
    if (heads * kWidth > 1e12 || slots * static_cast<double>(size[1]) * kWidth > 1e12) {
      throw ladder::UsageError("--sequences: " + std::to_string(size[0]) + " sequences are too large");
    }
    const std::size_t q = size[0] * size[1] * size[2] * kWidth;
    const std::size_t cache = static_cast<std::size_t>(slots) * size[1] * kWidth;
    return {ladder::input<__nv_bfloat16>("q", q), ladder::input<T>("K", cache), ladder::input<T>("V", cache),
            ladder::input<int>("lengths", size[0])};
  }
  static ladder::Buffer result(const ladder::Size& size) {
    return ladder::output<float>("out", size[0] * size[1] * size[2] * kWidth);
  }

 private:
  struct Reference : AttentionProblem {
    // Computes a range of one query's output, from q, K and V of its head only.
    static void row(const ladder::Arrays& one, std::size_t length, const Errors& errors, const ladder::Range& range,
                    double* want, double* scale) {
      const double gu = errors.score * ladder::kUnitRoundoff;
      const double ru = static_cast<double>(errors.term) * ladder::kUnitRoundoff;
      const double gamma = ru < 0.01 ? ru / (1 - ru) : ru;
      const Rounding rounding = {gu / (1 - gu), errors.underflow};
      reference<float>(one, {1, 1, length, kWidth, 0}, range, want, scale, rounding,
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

  // Gathers K and V of a KV head, key by key. kv_head is counted over all sequences.
  void gather(const ladder::Arrays& host, const ladder::Size& size, std::size_t kv_head, std::size_t length,
              std::vector<float>& keys, std::vector<float>& values) const {
    keys.resize(length * kWidth);
    values.resize(length * kWidth);
    for (std::size_t j = 0; j < length; ++j) {
      const Token token = {kv_head / size[1], j};
      read_row(host, size, 1, token, kv_head % size[1], &keys[j * kWidth]);
      read_row(host, size, 2, token, kv_head % size[1], &values[j * kWidth]);
    }
  }

  static double uniform(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return ladder::patterns::random(seed, buffer, i, 0);
  }
  // Scores of about +-3, as in a trained model.
  static double spread(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return (buffer == 0 ? 8 : 1) * uniform(seed, buffer, i);
  }
  // Each score is 181 above the previous one, for the last 250 keys, so out is exactly V of the last key.
  static double last_key(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    if (buffer == 2) return ladder::patterns::integers(seed, buffer, i, left);
    return buffer == 0 ? 16.0 : -static_cast<double>(std::min<std::size_t>(left, 250));
  }
  // All scores are about -140: a score of 0 that is counted by mistake outweighs them.
  static double far_below(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    if (buffer == 0) return 12 + uniform(seed, buffer, i);
    return buffer == 1 ? -1 + uniform(seed, buffer, i) / 8 : uniform(seed, buffer, i);
  }
  // Half of the scores are about +1400, the others about -1400.
  static double large(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    if (buffer == 0) return 125 + uniform(seed, buffer, i) / 8;
    if (buffer == 2) return uniform(seed, buffer, i);
    return (ladder::hash(seed, buffer, i / kWidth) % 2 ? 1 : -1) + uniform(seed, buffer, i) / 256;
  }
  static double equal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return buffer == 0 ? 0 : uniform(seed, buffer, i);
  }
  // NaN in the last key: in K of every second KV head, or in one column of V.
  template <std::size_t kBuffer>
  static double nan_in(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t left) {
    const bool here = buffer == kBuffer && left == 0 && i % (kBuffer == 1 ? 2 * kWidth : kWidth) == 5;
    return here ? std::numeric_limits<double>::quiet_NaN() : spread(seed, buffer, i, left);
  }

  bool on_tensor_cores_;
};
