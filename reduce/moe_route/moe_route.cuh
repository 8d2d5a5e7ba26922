// Mixture of experts: top-k, weights, places by expert.
// A router gives each token one logit per expert. For each token:
//   chosen    the k experts with the greatest logits, greatest first; of equal logits the lower expert comes first. NaN
//             counts as greater than all numbers, and -0 as equal to +0, as in PyTorch
//   weights   the softmax of the k logits: exp(x_j - x_0) / sum of exp(x_i - x_0). NaN if one of them is NaN, if x_0
//             is +infinity, or if all are -infinity
// Each (token, slot) is an entry of its chosen expert. Entries are sorted by expert, each expert's in token order:
//   offsets   the index of each expert's first entry, then the number of all entries
//   places    the sorted index of each entry. The order is stable, so there is one right answer
// practice: hard, next sgemm_tf32
#pragma once
#include "ladder.cuh"
#include "runner/parallel.hpp"

constexpr int kMostExperts = 256, kMostChosen = 8;

class MoeRoute : public ladder::Problem {
 public:
  // logits: tokens x experts; must not change. chosen, weights, places: tokens x k. offsets: experts + 1. Rows have no
  // gaps, nothing overlaps, any alignment. 1 <= k <= 8, k <= experts <= 256; tokens x k is below 2^31 and may be 0.
  using Launch = void (*)(const float* logits, int* chosen, float* weights, int* offsets, int* places,
                          std::size_t tokens, int experts, int k);

  explicit MoeRoute(Launch launch) : launch_(launch) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "moe_route"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"tokens", 262144, 1031, (std::size_t{1} << 31) - 1}, {"experts", 256, 64, kMostExperts}, {"k", 8, 6, 8}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[2] < 1 || size[2] > size[1]) {
      throw ladder::UsageError("--k: from 1 to --experts, which is " + std::to_string(size[1]));
    }
    const std::size_t entries = size[0] * size[2];
    if (entries >= std::size_t{1} << 31) throw ladder::UsageError("--tokens: times --k must be below 2^31");
    return {ladder::input<float>("logits", size[0] * size[1]), ladder::output<int>("chosen", entries),
            ladder::output<float>("weights", entries), ladder::output<int>("offsets", size[1] + 1),
            ladder::output<int>("places", entries)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<int>(1), device.at<float>(2), device.at<int>(3), device.at<int>(4),
            size[0], static_cast<int>(size[1]), static_cast<int>(size[2]));
  }

  // Returns the chosen experts, then the places, then the offsets.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    const std::size_t entries = size[0] * size[2];
    std::vector<double> all(2 * entries + size[1] + 1);
    ladder::parallel_for(size[0], 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t) choose(host.at<const float>(0), size, t, &all[t * size[2]]);
    });
    double* const offsets = &all[2 * entries];
    for (std::size_t i = 0; i < entries; ++i) ++offsets[static_cast<std::size_t>(all[i]) + 1];
    for (std::size_t e = 0; e < size[1]; ++e) offsets[e + 1] += offsets[e];
    std::vector<double> next(offsets, offsets + size[1]);
    for (std::size_t i = 0; i < entries; ++i) all[entries + i] = next[static_cast<std::size_t>(all[i])]++;
    return all;
  }

  // A weight is e_j / S with e_j = exp(d_j), d_j = x_j - x_0. The error of the subtraction is |d_j| u, a relative error
  // of e_j as large; expf adds 2 ulp, at most 4 u. In S each term's |d_i| u e_i is at most u / e, and S is at least 1;
  // its k - 1 additions and the division round. The total is (|d_j| + 4 + (k - 1) / e + 4 + (k - 1) + 1) u of the
  // weight, plus 2^-148 if e_j or the weight is subnormal.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t k = size[2], entries = size[0] * k;
    const std::vector<double>& all = host.digest();
    const std::size_t from = range.buffer == 1 ? 0 : range.buffer == 4 ? entries : 2 * entries;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      double &w = want[i - range.begin], &s = scale[i - range.begin];
      s = 0;
      if (range.buffer != 2) {
        w = all[from + i];
        continue;
      }
      const float* logits = host.at<const float>(0) + i / k * size[1];
      const double* chosen = &all[i / k * k];
      const auto less_first = [&](std::size_t j) {
        return double{logits[static_cast<std::size_t>(chosen[j])]} - logits[static_cast<std::size_t>(chosen[0])];
      };
      double sum = 0;
      for (std::size_t j = 0; j < k; ++j) sum += std::exp(less_first(j));
      const double d = less_first(i % k), rounds = std::fmin(std::fabs(d), 200) + 1.4 * static_cast<double>(k - 1) + 9;
      w = std::exp(d) / sum;
      s = w * rounds + std::ldexp(1.0, -148) / ladder::kUnitRoundoff;
    }
  }
  double tolerance(const ladder::Size&) const override { return ladder::kUnitRoundoff; }

  // "few values": many ties. "rising": all tokens choose the last experts, so the others have no entries. "uneven":
  // half of the tokens choose expert 3. "spread": weights that differ by many powers of two.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},     {"few values", false, few},      {"uneven", false, uneven},
            {"rising", false, rising},     {"equal", false, equal},         {"spread", false, spread},
            {"some NaN", false, nan},      {"infinities", false, infinite}, {"zeros", false, zeros},
            {"all -infinity", false, none}};
  }
  // Patterns get the expert instead of the buffer, and the token as index.
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t,
                 std::size_t i, std::size_t) const override {
    return pattern.value(seed, i % size[1], i / size[1], size[1]);
  }
  std::string corner(const ladder::Size&, const ladder::Pattern& pattern) const override {
    const std::string name = pattern.name;
    if (name != "some NaN") return "";
    return "NaN > x is false for every x, so a NaN is passed over; here it counts as the greatest.";
  }

  // No token, one token; token counts near a warp and tiles of 256, more tiles than a warp has lanes; one expert, near
  // 32 experts, the most allowed; k from 1 to 8, all experts chosen.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 8, 2},     {1, 1, 1},     {1, 8, 2},     {1, 256, 8},   {2, 3, 3},     {5, 33, 4},
            {31, 7, 2},    {32, 64, 6},   {33, 64, 8},   {70, 1, 1},    {63, 8, 8},    {65, 40, 5},
            {255, 31, 5},  {256, 8, 1},   {257, 32, 2},  {300, 128, 8}, {511, 100, 3}, {513, 60, 4},
            {700, 256, 7}, {1030, 16, 2}, {2100, 65, 6}, {8200, 9, 1},  {12011, 3, 1}};
  }
  // More than 2^31 logits.
  std::vector<ladder::Size> huge_sizes() const override { return {{(1 << 23) + 5, 256, 8}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{262144, 256, 8}, {1 << 20, 64, 2}, {16384, 128, 8}, {256, 256, 8}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t experts = draw.length(kMostExperts);
    const std::size_t k = std::min(experts, 1 + draw.below(kMostChosen));
    return draw_lengths(draw, bytes, {0, experts, k});
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }
  double flops(const ladder::Size& size) const override {  // a comparison per logit
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static void choose(const float* logits, const ladder::Size& size, std::size_t token, double* chosen) {
    const float* row = logits + token * size[1];
    std::vector<int> order(size[1]);
    for (std::size_t e = 0; e < size[1]; ++e) order[e] = static_cast<int>(e);
    const auto first = [&](int a, int b) {
      if (row[a] > row[b] || row[a] < row[b]) return row[a] > row[b];
      if (std::isnan(row[a]) != std::isnan(row[b])) return std::isnan(row[a]);
      return a < b;
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size[2]), order.end(), first);
    std::copy(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size[2]), chosen);
  }

  static double random(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t n) {
    return 4 * ladder::patterns::random(seed, expert, token, n);
  }
  static double few(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t) {
    return static_cast<double>(ladder::hash(seed, expert, token) % 4) - 1;
  }
  static double uneven(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t n) {
    return random(seed, expert, token, n) + (expert == 3 && ladder::hash(seed, 999, token) % 2 ? 16 : 0);
  }
  static double rising(std::uint64_t, std::size_t expert, std::size_t, std::size_t) {
    return static_cast<double>(expert) / 8;
  }
  static double equal(std::uint64_t, std::size_t, std::size_t, std::size_t) { return 0.1; }
  static double spread(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t n) {
    return 60 * ladder::patterns::random(seed, expert, token, n);
  }
  static double nan(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t n) {
    const std::uint64_t h = ladder::hash(seed, expert + 999, token);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return h % 16 == 0 ? std::copysign(nan, h & 16 ? 1.0 : -1.0) : random(seed, expert, token, n);
  }
  static double infinite(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t n) {
    const std::uint64_t h = ladder::hash(seed, expert + 999, token);
    if (token % 3 == 0 && h % 16 == 0) return std::numeric_limits<double>::infinity();
    return h % 4 != 0 ? -std::numeric_limits<double>::infinity() : random(seed, expert, token, n);
  }
  static double zeros(std::uint64_t seed, std::size_t expert, std::size_t token, std::size_t) {
    return ladder::hash(seed, expert, token) % 2 ? -0.0 : 0.0;
  }
  static double none(std::uint64_t, std::size_t, std::size_t, std::size_t) {
    return -std::numeric_limits<double>::infinity();
  }

  Launch launch_;
};
