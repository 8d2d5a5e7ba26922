// Embedding gradient: scatter rows that add up.
// table_grad[r] = the sum of grad[t] over the tokens t with ids[t] = r; a row without a token is 0. Ids outside
// [0, vocab), such as -1 for padding, are ignored. order, for steps that use it, lists the tokens sorted by id:
// ids[order[0]] <= ids[order[1]] <= ... Tokens with equal ids may be listed and added in any order. (PyTorch sorts in
// the same call; a framework may sort once per batch.)
// practice: medium, next vec3_norm
#pragma once
#include "embedding_ids.hpp"

class EmbeddingGrad : public ladder::Problem {
 public:
  // grad is tokens x dim and table_grad is vocab x dim, both row-major without gaps. They do not overlap; 4-byte
  // alignment is enough. ids has one int64 and order one int per token. All of table_grad is overwritten. Each length
  // may be 0; tokens and vocab are below 2^31.
  using Launch = void (*)(const float* grad, const std::int64_t* ids, const int* order, float* table_grad,
                          std::size_t tokens, std::size_t vocab, std::size_t dim);

  explicit EmbeddingGrad(Launch launch) : launch_(launch) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "embedding_grad"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"tokens", 65536, 301, most}, {"vocab", 50304, 97, most}, {"dim", 1024, 132, std::size_t{1} << 30}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require_rows(size[0], size[1], size[2]);
    return {ladder::input<float>("grad", size[0] * size[2]), ladder::input<std::int64_t>("ids", size[0]),
            ladder::input<int>("order", size[0]), ladder::output<float>("table_grad", size[1] * size[2])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const std::int64_t>(1), device.at<const int>(2), device.at<float>(3),
            size[0], size[1], size[2]);
  }

  // Returns vocab + 1 indices into itself, where each row's tokens begin, then the tokens by row.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<std::vector<double>> tokens(size[1]);
    for (std::size_t t = 0; t < size[0]; ++t) {
      const std::int64_t id = host.at<const std::int64_t>(1)[t];
      if (id >= 0 && static_cast<std::size_t>(id) < size[1]) tokens[id].push_back(static_cast<double>(t));
    }
    std::vector<double> digest{static_cast<double>(size[1] + 1)};
    for (const auto& row : tokens) digest.push_back(digest.back() + static_cast<double>(row.size()));
    for (const auto& row : tokens) digest.insert(digest.end(), row.begin(), row.end());
    return digest;
  }
  // A row of k tokens takes k - 1 additions that round; adding to the 0 of a cleared table is exact. Their error is at
  // most (k - 1) u times the sum of magnitudes, in any order (Rump, BIT 52, 2012). So a row of one token is exact.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t e = range.begin; e < range.end; ++e) {
      const double* first = host.digest().data() + e / size[2];
      double sum = 0, magnitude = 0;
      for (auto k = static_cast<std::size_t>(first[0]); k < static_cast<std::size_t>(first[1]); ++k) {
        const auto token = static_cast<std::size_t>(host.digest()[k]);
        const double g = host.at<const float>(0)[token * size[2] + e % size[2]];
        sum += g;
        magnitude += std::fabs(g);
      }
      want[e - range.begin] = sum;
      scale[e - range.begin] = std::fmax(first[1] - first[0] - 1, 0) * magnitude + ladder::kEitherZero;
    }
  }
  double tolerance(const ladder::Size&) const override { return ladder::kUnitRoundoff; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, with_ids<ladder::patterns::random, inside>},
            {"integer", true, with_ids<ladder::patterns::integers, some_outside>},
            {"one id", true, with_ids<ladder::patterns::integers, last_row>},
            {"frequent ids", false, with_ids<ladder::patterns::random, frequent>},
            {"outside", true, with_ids<ladder::patterns::integers, all_outside>},
            {"one NaN", false, with_ids<one_nan, inside>}};
  }
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    const double value = pattern.value(seed, buffer, i, n);
    return buffer == 1 ? id_of(value, size[1]) : value;
  }
  // Empty; one token, one row; around a float4, a warp, a block; many tokens for a row, many rows without a token.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 5, 8},   {5, 0, 8},      {5, 7, 0},      {1, 1, 1},    {1, 1, 4},
                                       {300, 3, 1}, {1001, 29, 4},  {7, 100, 2},    {2, 5001, 8}, {3, 4, 4100},
                                       {33, 1, 36}, {2053, 700, 3}, {1025, 300, 20}};
    for (const std::size_t dim : {5, 12, 31, 32, 33, 64, 100, 127, 128, 129, 132, 255, 256, 257, 1000, 1024, 1027}) {
      sizes.push_back({37, 23, dim});
    }
    return sizes;
  }
  // More than 2^31 elements in grad and in the table.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 3, (1 << 21) + 5, 1028}, {(1 << 21) + 3, (1 << 21) + 5, 1025}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{65536, 50304, 1024}, {16384, 131072, 4096}, {1048576, 1048576, 128}, {65536, 256, 1024}};
  }
  ladder::Size random_size(ladder::Draw& draw, double most) const override {
    return with_vocab(draw, most / 2, draw_lengths(draw, most / 2, {0, 1, 0}));
  }
  double flops(const ladder::Size& size) const override {
    return static_cast<double>(size[0]) * static_cast<double>(size[2]);
  }
  // grad and ids are read once, the table is written once. order is not counted.
  double bytes(const ladder::Size& size) const override {
    return static_cast<double>(size[0]) * (4.0 * static_cast<double>(size[2]) + 8) +
           4.0 * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }

 private:
  // Returns a: token i is at index a i mod n of the order. a and n have no common factor.
  static std::size_t factor(std::size_t n) {
    constexpr std::size_t prime = 1000003;
    return n % prime == 0 ? 1 : prime % n;
  }
  // Returns the token at index k of the order: k / a mod n, by Euclid's algorithm.
  static double token_at(std::size_t k, std::size_t n) {
    const auto m = static_cast<std::int64_t>(n);
    std::int64_t r = m, next_r = static_cast<std::int64_t>(factor(n)), inverse = 0, next_inverse = 1;
    while (next_r != 0) {
      const std::int64_t q = r / next_r;
      r = std::exchange(next_r, r - q * next_r);
      inverse = std::exchange(next_inverse, inverse - q * next_inverse);
    }
    inverse = (inverse % m + m) % m;
    return static_cast<double>(k * static_cast<std::size_t>(inverse) % n);
  }
  // kShare maps a token's index in the order, as a share of n, to its id, as a share of vocab. It must not decrease.
  template <double (*kGrad)(std::uint64_t, std::size_t, std::size_t, std::size_t), double (*kShare)(double)>
  static double with_ids(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 0) return kGrad(seed, buffer, i, n);
    if (buffer == 2) return token_at(i, n);
    const std::size_t place = i * factor(n) % n;
    return kShare((static_cast<double>(place) + uniform_share(ladder::hash(seed, buffer, place))) /
                  static_cast<double>(n));
  }
  static double inside(double place) { return place; }
  static double last_row(double) { return 0.99999999; }
  static double frequent(double place) { return place * place * place * place; }
  // An eighth of the ids are -1. An eighth are past the end, half of those 2^32 above the last row's id.
  static double some_outside(double place) {
    if (place < 0.125) return -1;
    if (place < 0.875) return (place - 0.125) / 0.75;
    return place < 0.9375 ? 1 : 4294967296.0;
  }
  static double all_outside(double place) { return place < 0.5 ? -1 : 1; }
  static double one_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
