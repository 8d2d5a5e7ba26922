// The k greatest elements of each row, sorted.
// The k greatest elements of each row of a row-major rows x cols matrix, greatest first, with their columns. NaN counts
// as greater than all numbers, and -0 as equal to +0, as in PyTorch. Of equal elements (NaN equals NaN) the lower
// column comes first, so the answer is unique. values holds x's own elements: a -0 stays -0.
// practice: hard, next sort
#pragma once
#include "ladder.cuh"
#include "runner/parallel.hpp"

class TopK : public ladder::Problem {
 public:
  // x: rows * cols floats, rows contiguous; values, indices: rows * k elements. No overlap, any alignment, any cols.
  // rows and cols are below 2^31 and may be 0; k <= 64, k <= cols, and may be 0.
  using Launch = void (*)(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                          std::size_t k);

  explicit TopK(Launch launch) : launch_(launch) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "top_k"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"rows", 4096, 67, most}, {"cols", 50257, 517, most}, {"k", 8, 8, 64}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) > 1e15) {
      throw ladder::UsageError("--rows: a matrix of " + std::to_string(size[0]) + " rows is too large");
    }
    if (size[2] > size[1]) {
      throw ladder::UsageError("--k: a row of " + std::to_string(size[1]) + " has no " + std::to_string(size[2]) +
                               " greatest; at most --cols");
    }
    return {ladder::input<float>("x", size[0] * size[1]), ladder::output<float>("values", size[0] * size[2]),
            ladder::output<int>("indices", size[0] * size[2])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), device.at<int>(2), size[0], size[1], size[2]);
  }

  // Returns the columns, in the order of the outputs.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    const std::size_t k = size[2];
    std::vector<double> columns(size[0] * k);
    ladder::parallel_for(size[0], 1 + (1 << 16) / (size[1] + 1), [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end && k > 0; ++r) {
        const float* row = host.at<const float>(0) + r * size[1];
        const auto first = [&](std::size_t a, std::size_t b) {
          if (row[a] > row[b] || row[a] < row[b]) return row[a] > row[b];
          if (std::isnan(row[a]) != std::isnan(row[b])) return std::isnan(row[a]);
          return a < b;
        };
        std::vector<std::size_t> best;  // a heap with the last of the best in front
        for (std::size_t c = 0; c < size[1]; ++c) {
          if (best.size() == k) {
            if (!first(c, best.front())) continue;
            std::pop_heap(best.begin(), best.end(), first);
            best.pop_back();
          }
          best.push_back(c);
          std::push_heap(best.begin(), best.end(), first);
        }
        std::sort_heap(best.begin(), best.end(), first);
        std::copy(best.begin(), best.end(), columns.begin() + static_cast<std::ptrdiff_t>(r * k));
      }
    });
    return columns;
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double column = host.digest()[i];
      want[i - range.begin] = range.buffer == 2
                                  ? column
                                  : host.at<const float>(0)[i / size[2] * size[1] + static_cast<std::size_t>(column)];
      scale[i - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "few values": each of eight values occurs many times. "rising": each element is greater than all before it.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"few values", false, ladder::patterns::integers},
            {"rising", false, rising},
            {"falling", false, falling},
            {"equal", false, ladder::patterns::tenths},
            {"zeros", false, zeros},
            {"special", false, ladder::patterns::special},
            {"some NaN", false, some_nan},
            {"minus infinity", false, minus_infinity},
            {"tail", false, ladder::patterns::tail}};
  }
  std::string corner(const ladder::Size&, const ladder::Pattern& pattern) const override {
    const std::string name = pattern.name;
    if (name != "special" && name != "some NaN") return "";
    return "NaN > x is false for every x, so a NaN is passed over; here it counts as the greatest.";
  }

  // Empty; k of 0, 1, the whole row, near 32, up to 64; rows for a thread, a warp, a group and many, with odd lengths;
  // rows that do not fill the last block of 128.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 5, 2},      {3, 5, 0},     {3, 0, 0},     {1, 1, 1},     {70, 1, 1},    {9, 2, 2},      {7, 8, 8},
            {5, 9, 3},      {9, 31, 8},    {9, 32, 32},   {9, 33, 31},   {5, 64, 64},   {5, 65, 33},    {35, 100, 1},
            {3, 127, 8},    {3, 128, 64},  {3, 131, 9},   {2, 257, 16},  {3, 511, 17},  {2, 513, 63},   {2, 1023, 8},
            {2, 1025, 64},  {3, 2050, 32}, {2, 4099, 10}, {1, 8195, 7},  {2, 16389, 3}, {1, 33001, 33}, {2, 70001, 8},
            {33, 1027, 40}, {35, 1601, 2}, {3, 2047, 20}, {2, 2049, 64}, {129, 6, 3},   {261, 40, 2},   {130, 32, 3},
            {131, 13, 8},   {257, 16, 12}, {140, 33, 4},  {5, 2053, 1}};
  }
  // More than 2^31 elements, in rows for a thread, for a warp and for many blocks.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 26) + 5, 33, 2}, {(1 << 21) + 5, 1028, 8}, {1025, (1 << 21) + 4, 32}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{65536, 1024, 8}, {1 << 20, 64, 2}, {4096, 50257, 8}, {4096, 50257, 64}, {1, 1 << 24, 32}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t k = draw.length(64);
    ladder::Size size = draw_lengths(draw, bytes, {0, 0, 1});
    size.dims[2] = std::min(k, size[1]);
    return size;
  }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }
  double flops(const ladder::Size& size) const override {  // a comparison per element
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static double rising(std::uint64_t, std::size_t, std::size_t i, std::size_t) { return static_cast<double>(i) - 1000; }
  static double falling(std::uint64_t, std::size_t, std::size_t i, std::size_t n) { return rising(0, 0, n - i, n); }
  static double zeros(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return ladder::hash(seed, buffer, i) % 2 ? -0.0 : 0.0;
  }
  static double some_nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return ladder::hash(seed, buffer + 7, i) % 32 == 0 ? std::copysign(nan, i % 2 ? 1 : -1)
                                                       : ladder::patterns::random(seed, buffer, i, n);
  }
  static double minus_infinity(std::uint64_t, std::size_t, std::size_t, std::size_t) {
    return -std::numeric_limits<double>::infinity();
  }

  Launch launch_;
};
