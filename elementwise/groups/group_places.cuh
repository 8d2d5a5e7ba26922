// Hands out places in two buffers.
// Element v of x needs places(v) = 0 to 3 places, in `odd` if it is odd, else in `even`, and is written to each of
// them. A buffer's places are handed out from index 0 on, without gaps, in any order. Its contents are compared as a
// multiset, and elements beyond the used places must not change. counts[0] and counts[1] are set to the number of
// places used in even and in odd.
// Exact: bit-equal.
// practice: medium, next litmus
#pragma once
#include "../elementwise.cuh"

#include <vector>

__host__ __device__ inline unsigned places(int v) { return static_cast<unsigned>(v) >> 1 & 3; }
__host__ __device__ inline bool is_odd(int v) { return (v & 1) != 0; }

class GroupPlaces : public Elementwise {
 public:
  // x holds n integers, even and odd 3 n each; they do not overlap. counts is overwritten. n = 0 is allowed.
  using Launch = void (*)(const int* x, int* even, int* odd, std::int64_t* counts, std::size_t n);

  explicit GroupPlaces(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "group_places"; }
  // even and odd are also inputs: elements beyond the used places must keep their values.
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<int>("x", size[0]), ladder::inout<int>("even", 3 * size[0]),
            ladder::inout<int>("odd", 3 * size[0]), ladder::output<std::int64_t>("counts", 2)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const int>(0), device.at<int>(1), device.at<int>(2), device.at<std::int64_t>(3), size[0]);
  }
  // Returns the number of places needed before each piece of x, and in total: of even, then of odd.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> before{0, 0};
    for (std::size_t begin = 0; begin < size[0]; begin += kPiece) {
      double more[2] = {0, 0};
      for (std::size_t i = begin; i < std::min(begin + kPiece, size[0]); ++i) {
        const int v = host.at<const int>(0)[i];
        more[v % 2 != 0] += asked(v);
      }
      for (const double kind : more) before.push_back(before[before.size() - 2] + kind);
    }
    return before;
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    std::fill(scale, scale + (range.end - range.begin), 0.0);
    const std::vector<double>& before = host.digest();
    if (range.buffer == 3) {
      for (std::size_t k = range.begin; k < range.end; ++k) want[k - range.begin] = before[before.size() - 2 + k];
      return;
    }
    const bool odd = range.buffer == 2;
    std::size_t piece = 0;  // the last piece whose places begin at or before the range
    while (2 * (piece + 1) < before.size() && before[2 * (piece + 1) + odd] <= static_cast<double>(range.begin))
      ++piece;
    std::size_t to = range.begin;
    auto place = static_cast<std::size_t>(before[2 * piece + odd]);
    for (std::size_t i = piece * kPiece; i < size[0] && to < range.end; ++i) {
      const int v = host.at<const int>(0)[i];
      if ((v % 2 != 0) != odd) continue;
      for (const std::size_t end = place + asked(v); place < end; ++place) {
        if (place == to && to < range.end) want[to++ - range.begin] = v;
      }
    }
    for (; to < range.end; ++to) want[to - range.begin] = host.at<const int>(range.buffer)[to];
  }
  std::size_t in_any_order(const ladder::Arrays& host, const ladder::Size&, std::size_t buffer) const override {
    if (buffer != 1 && buffer != 2) return 0;
    const std::vector<double>& before = host.digest();
    return static_cast<std::size_t>(before[before.size() - 2 + (buffer == 2)]);
  }
  // "even": no places in odd. "none": no places at all. "last": only elements at the end of a warp or of x need places.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, any_integer}, {"even", true, even}, {"none", true, none}, {"last", true, last}};
  }
  // Around a warp and a block, blocks that end within a warp, and more elements than a piece of the digest.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0},  {1},  {2},  {3},   {5},   {29},  {30},  {31},  {32},  {33},   {34},   {61},
            {63}, {64}, {65}, {127}, {129}, {255}, {256}, {257}, {293}, {1025}, {4099}, {9973}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }  // each warp needs an atomic on one address
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 20}, {std::size_t{1} << 24}}; }
  // For random data: 4 n bytes of x are read, and 1.5 n places in even and odd together (6 n bytes) are written.
  double bytes(const ladder::Size& size) const override { return 10.0 * static_cast<double>(size[0]) + 16; }

 private:
  static constexpr std::size_t kPiece = 4096;

  static unsigned asked(int v) { return static_cast<unsigned>(v) / 2 % 4; }
  static int bits(std::uint64_t seed, std::size_t buffer, std::size_t i) {
    return static_cast<std::int32_t>(ladder::hash(seed, buffer, i) >> 32);
  }
  static double any_integer(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return bits(seed, buffer, i);
  }
  static double even(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return bits(seed, buffer, i) & ~1;
  }
  static double none(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return bits(seed, buffer, i) & ~6;
  }
  static double last(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i + 1 == n || i % 32 >= 29 ? bits(seed, buffer, i) | 6 : bits(seed, buffer, i) & ~6;
  }

  Launch launch_;
};
