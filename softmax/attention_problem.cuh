// O = softmax(Q K^T / sqrt(d)) V for each head: the forward attention of a transformer.
//   s_ij = sum_c Q_ic K_jc / sqrt(d),   O_ic = sum_j exp(s_ij - m_i) V_jc / sum_j exp(s_ij - m_i),   m_i = max_j s_ij.
//
// The causal mask is aligned to the bottom right: query i attends to the keys j <= i + keys - queries, as a decoder
// with a KV cache needs (FlashAttention since 2.1; PyTorch's is_causal is aligned to the top left). A query without
// visible keys gives 0: the first queries - keys rows under the mask, and all rows if keys = 0.
#pragma once
#include "sampled_rows.cuh"

#include <algorithm>
#include <cmath>

class AttentionProblem : public ladder::Problem {
 public:
  // Returns a bound on the relative rounding errors in one element of O, except the scores', in units of u = 2^-24.
  using Roundings = std::size_t (*)(std::size_t keys);

  // A bound for any order of additions and any splits: exp and product with V (5), at most `keys` merges of exp (4),
  // product and two additions (7), one more merge of partial sums in each of the two sums, and the division.
  static std::size_t any_roundings(std::size_t keys) { return 5 + 7 * keys + 2 * 7 + 1; }

  // keeps_scores: the step allocates memory for all scores.
  explicit AttentionProblem(Roundings roundings, bool keeps_scores = false)
      : roundings_(roundings), keeps_scores_(keeps_scores) {}

  const char* family() const override { return "softmax"; }
  // d = 0 means 64; causal = 1 means the causal mask.
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"heads", 64, 3, most},
            {"queries", 2048, 70, most},
            {"keys", 2048, 131, most},
            {"d", 0, 0, 128},
            {"causal", 0, 0, 1}};
  }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_known(size, element / width(size));
  }

  // There are two kinds of error. First, errors of the scores. A score is off by at most g A_j, A_j = sum_c |Q_c K_jc|
  // / sqrt(d), g = gamma_(d + 4), for any order of additions, whether Q or the sum is scaled (Higham, Accuracy and
  // Stability of Numerical Algorithms, 2nd ed., (3.13); the scale is rounded, and so is its product). An error of m
  // cancels, because m is the same for all j. Subtracting m rounds by u |s_j - m|. In a product exp(s_j - m') exp(m' -
  // m) ..., m' < m, the arguments' errors add up to no more. So p_j is off by a factor between exp(-D_j) and exp(D_j),
  // D_j = g A_j + u (|s_j - m| + 2 g max A), and O by at most sum p_j (exp(D_j) - 1) |V_j - O| / sum p_j exp(-D_j),
  // with the exact p, m and O. This is not a first-order estimate, so it holds for large scores too.
  // Second, all other errors. exp is off by at most 2 ulp = 4 u (CUDA C++ Programming Guide), each addition and product
  // by u, and a weight's factor exp(m' - m) by 4 u plus u for the product. Let r bound the number of these errors that
  // a term of either sum passes through, including the division. Then the error is at most gamma_r (sum p_j |V_j| / sum
  // p_j + |O|). r is at least keys + kLeastRoundings, by which the scale divides the first part. Results below 2^-126
  // are multiples of 2^-149.
  double tolerance(const ladder::Size& size) const override {
    const double ru = static_cast<double>(std::max(roundings_(size[2]), least_roundings(size))) * ladder::kUnitRoundoff;
    return ru < 0.01 ? ru / (1 - ru) : ru;  // for long sums, Rump's bound (BIT 52, 2012) has no higher-order terms
  }
  // Returns true if "last key" has an exact result: its scores are at least 128 apart, but start over after 2^12 keys.
  bool exact(const ladder::Size& size) const override { return size[2] <= kLastKeys; }

  std::vector<ladder::Pattern> patterns() const override {
    return {
        {"random", false, spread},         {"last key", true, last_key},      {"rising", false, rising},
        {"far below 0", false, far_below}, {"thousands", false, thousands},   {"ten thousands", false, ten_thousands},
        {"equal scores", false, equal},    {"one NaN in Q", false, nan_in_q}, {"NaN in the last key", false, nan_in_k}};
  }
  std::string corner(const ladder::Size& size, const ladder::Pattern&) const override {
    if (size[4] == 0 || size[1] <= size[2]) return "";
    return "Under the causal mask the first queries have no key to attend to where there are more queries than keys.";
  }

  // heads, queries, keys, d, causal: empty sizes; one query and one key; sizes around a warp and the tiles (16 to 128);
  // more queries than keys, and fewer; tiles and splits that the mask cuts off; enough keys for several splits. All are
  // small, for the CPU backend.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 3, 5, 0, 0},       {2, 0, 5, 0, 1},      {2, 3, 0, 0, 0},     {2, 3, 0, 128, 1},   {1, 1, 1, 0, 0},
            {3, 1, 1, 128, 1},     {2, 1, 70, 0, 1},     {2, 67, 1, 0, 0},    {1, 5, 1, 128, 1},   {3, 2, 3, 0, 1},
            {2, 7, 5, 0, 1},       {2, 31, 33, 0, 0},    {1, 33, 31, 128, 1}, {1, 32, 32, 0, 1},   {1, 64, 64, 0, 1},
            {1, 64, 64, 128, 0},   {1, 65, 63, 0, 1},    {1, 63, 65, 128, 1}, {1, 127, 129, 0, 1}, {1, 129, 127, 0, 0},
            {1, 128, 128, 128, 1}, {1, 17, 200, 0, 1},   {1, 150, 20, 0, 1},  {2, 133, 70, 0, 1},  {1, 70, 133, 128, 0},
            {1, 9, 517, 0, 0},     {2, 1, 1100, 128, 1}, {1, 6, 2100, 0, 1},  {1, 40, 150, 128, 1}};
  }
  // More than 2^31 elements in Q, in K, and in both: first in long sequences, then in many heads.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{3, 11200003, 3, 0, 0}, {3, 3, 11200003, 0, 1}, {(1 << 25) + 3, 1, 1, 0, 0}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{64, 1024, 1024, 0, 0},   {64, 2048, 2048, 0, 0},   {64, 2048, 2048, 0, 1}, {64, 4096, 4096, 0, 0},
            {64, 2048, 2048, 128, 0}, {64, 2048, 2048, 128, 1}, {256, 1, 4096, 128, 0}, {8, 16, 100003, 0, 1}};
  }

  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t d = draw.coin() ? 128 : 0, causal = draw.coin();
    return draw_lengths(draw, bytes, {0, 0, 0, d, causal});
  }

  // Counts both GEMMs, for the unmasked pairs of a query and a key.
  double flops(const ladder::Size& size) const override {
    double pairs = static_cast<double>(size[1]) * static_cast<double>(size[2]);
    if (size[4] != 0) {
      const double n = static_cast<double>(std::min(size[1], size[2]));  // the triangle at the end
      pairs = n * (n + 1) / 2 + (static_cast<double>(size[2]) - n) * static_cast<double>(size[1]);
    }
    return 4.0 * static_cast<double>(width(size)) * static_cast<double>(size[0]) * pairs;
  }
  double scratch_bytes(const ladder::Size& size) const override {
    const double pairs = static_cast<double>(size[1]) * static_cast<double>(size[2]);
    return keeps_scores_ ? 4 * static_cast<double>(size[0]) * pairs : 0;
  }

 protected:
  // A row of O. magnitude: sum p |V| / sum p; most_magnitude: its largest value under score errors; score_error: the
  // largest change of O by score errors and by underflow.
  struct Row {
    explicit Row(std::size_t d) : want(d), magnitude(d), most_magnitude(d), score_error(d) {}
    std::vector<double> want, magnitude, most_magnitude, score_error;
    std::vector<double> score, size;  // one per key; size: A_j
  };
  // score: |error of a score| <= score A_j; smallest: half of the largest underflow error.
  struct Rounding {
    double score, smallest;
  };

  static std::size_t least_roundings(const ladder::Size& size) { return size[2] + kLeastRoundings; }
  static std::size_t width(const ladder::Size& size) { return size[3] == 0 ? 64 : size[3]; }

  static bool is_known(const ladder::Size& size, std::size_t row) {
    return is_sampled_row(size[0] * size[1], size[2], 2 * width(size), row);
  }

  // Returns Q, K, V and O with elements of type T.
  template <typename T>
  static std::vector<ladder::Buffer> arrays(const ladder::Size& size) {
    if (width(size) != 64 && width(size) != 128) throw ladder::UsageError("--d: must be 64 or 128");
    const std::size_t longest = std::max(size[1], size[2]);
    if (static_cast<double>(size[0]) * static_cast<double>(longest) > 1e12) {
      throw ladder::UsageError("--heads: " + std::to_string(size[0]) + " heads of " + std::to_string(longest) +
                               " rows are too large");
    }
    const std::size_t q = size[0] * size[1] * width(size), k = size[0] * size[2] * width(size);
    return {ladder::input<T>("Q", q), ladder::input<T>("K", k), ladder::input<T>("V", k), ladder::output<T>("O", q)};
  }

  // The keys `first` to `end` - 1, and one more with score `sink` and V = 0.
  struct Attended {
    std::size_t first, end;
    double sink = -std::numeric_limits<double>::infinity();
  };
  // Returns the keys that query i of a head attends to.
  static Attended attended(const ladder::Size& size, std::size_t i) {
    if (size[4] == 0) return {0, size[2]};
    return {0, i + 1 + size[2] > size[1] ? std::min(size[2], i + 1 + size[2] - size[1]) : 0};
  }

  // Computes scale = scale_of(row, column, want) for each element of the range of O; scale_of also sets want.
  template <typename T, typename ScaleOf>
  static void reference(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
                        double* scale, const Rounding& rounding, const ScaleOf& scale_of) {
    const auto visible = [&](std::size_t row) { return attended(size, row % size[1]); };
    reference<T>(host, size, range, want, scale, rounding, scale_of, visible);
  }
  // visible(row): the keys that a row of O attends to. Rows are counted over all heads.
  template <typename T, typename ScaleOf, typename Visible>
  static void reference(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
                        double* scale, const Rounding& rounding, const ScaleOf& scale_of, const Visible& visible) {
    const std::size_t d = width(size);
    Row row(d);
    for (std::size_t begin = range.begin; begin < range.end;) {
      const std::size_t i = begin / d, end = std::min(range.end, (i + 1) * d);
      const bool known = is_known(size, i);
      if (known) compute<T>(host, size, i, visible(i), rounding, row);
      for (; begin < end; ++begin) {
        double& x = want[begin - range.begin];
        x = 0;
        scale[begin - range.begin] = known ? scale_of(row, begin - i * d, x) : std::numeric_limits<double>::infinity();
      }
    }
  }

 private:
  static constexpr std::size_t kLeastRoundings = 8, kLastKeys = 1 << 12;

  // Computes row i of O, counted over all heads.
  template <typename T>
  static void compute(const ladder::Arrays& host, const ladder::Size& size, std::size_t i, const Attended& visible,
                      const Rounding& rounding, Row& row) {
    const std::size_t d = width(size), first = i / size[1] * size[2] + visible.first, n = visible.end - visible.first;
    const T *q = host.at<const T>(0) + i * d, *k = host.at<const T>(1) + first * d,
            *v = host.at<const T>(2) + first * d;
    const auto number = [](const T& x) { return static_cast<double>(static_cast<float>(x)); };
    constexpr double u = ladder::kUnitRoundoff;
    row = Row(d);
    if (n == 0) return;  // exactly 0
    row.score.assign(n, 0.0);
    row.size.assign(n, 0.0);
    double max = visible.sink, max_size = 0;
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::size_t c = 0; c < d; ++c) {
        const double product = number(q[c]) * number(k[j * d + c]);
        sum += product;
        magnitude += std::fabs(product);
      }
      row.score[j] = sum / std::sqrt(static_cast<double>(d));
      row.size[j] = magnitude / std::sqrt(static_cast<double>(d));
      max = std::max(max, row.score[j]);  // drops NaN; the sum keeps it
      max_size = std::max(max_size, row.size[j]);
    }
    double sum = 0, least_sum = 0, most = 0;
    const double g = rounding.score;
    for (std::size_t j = 0; j < n; ++j) {
      const double t = row.score[j] - max, p = std::exp(t);
      const double error = g * row.size[j] + u * (std::fabs(t) + 2 * g * max_size);
      row.score[j] = p;
      row.size[j] = p * std::expm1(error);
      sum += p;
      least_sum += p * std::exp(-error);
      for (std::size_t c = 0; c < d; ++c) {
        const double value = number(v[j * d + c]);
        row.want[c] += p * value;
        row.magnitude[c] += std::fabs(p * value);
        row.most_magnitude[c] += std::fabs((p + row.size[j]) * value);
        most = std::max(most, std::fabs(value));
      }
    }
    // The sink's score is not a sum; its error is that of the product with a rounded log2(e).
    const double t = visible.sink - max, p = std::exp(t);
    const double sink_error =
        p > 0 ? p * std::expm1(u * (2 * std::fabs(visible.sink) + std::fabs(t) + 2 * g * max_size)) : 0;
    sum += p;
    least_sum += p - sink_error;
    for (std::size_t c = 0; c < d; ++c) {
      row.want[c] /= sum;
      row.score_error[c] = sink_error * std::fabs(row.want[c]);
    }
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < d; ++c) {
        row.score_error[c] += row.size[j] * std::fabs(number(v[j * d + c]) - row.want[c]);
      }
    }
    const double underflow = 4 * rounding.smallest * (static_cast<double>(n + 1) * most + 1);
    for (std::size_t c = 0; c < d; ++c) {
      row.magnitude[c] /= sum;
      row.most_magnitude[c] /= least_sum;
      row.score_error[c] = row.score_error[c] / least_sum + underflow;
    }
  }

  static double uniform(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return ladder::patterns::random(seed, buffer, i, n);
  }
  // Scores of about +-3, as in a trained model.
  static double spread(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (buffer == 0 ? 8 : 1) * uniform(seed, buffer, i, n);
  }
  // Each key's score is at least 128 above the previous one, so O is exactly V of the last visible key.
  static double last_key(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 2) return ladder::patterns::integers(seed, buffer, i, n);
    return buffer == 0 ? 16.0 : static_cast<double>(i / 64 % kLastKeys);
  }
  // Each key is a new maximum, slightly above the previous one.
  static double rising(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 2) return uniform(seed, buffer, i, n);
    return buffer == 0 ? 1.0 / 256 : static_cast<double>(i / 64 % kLastKeys);
  }
  // All scores are about -50: a score of 0 that is counted by mistake outweighs them.
  static double far_below(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0   ? 6 + uniform(seed, buffer, i, n)
           : buffer == 1 ? -1 + uniform(seed, buffer, i, n) / 8
                         : uniform(seed, buffer, i, n);
  }
  // Half of the scores are about +1000, the others about -1000.
  static double thousands(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0) return 125 + uniform(seed, buffer, i, n) / 8;
    if (buffer == 1) return (ladder::hash(seed, buffer, i / 128) % 2 ? 1 : -1) + uniform(seed, buffer, i, n) / 256;
    return uniform(seed, buffer, i, n);
  }
  // Scores of +-10000 and more.
  static double ten_thousands(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return (buffer == 0 ? 30 : buffer == 1 ? 1000 : 1) * uniform(seed, buffer, i, n);
  }
  static double equal(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? 0 : uniform(seed, buffer, i, n);
  }
  static double nan_in_q(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0 && i == n / 2) return std::numeric_limits<double>::quiet_NaN();
    return spread(seed, buffer, i, n);
  }
  // Under the mask only the last query attends to it.
  static double nan_in_k(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 1 && i + 1 == n) return std::numeric_limits<double>::quiet_NaN();
    return spread(seed, buffer, i, n);
  }

  Roundings roundings_;
  bool keeps_scores_;
};
