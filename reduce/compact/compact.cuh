// Stream compaction: keeps the elements above 0.
// out[0..count) = the elements of x that are greater than 0, in their order and bit-equal; count = their number. NaN,
// +0 and -0 are dropped; infinity and positive subnormals are kept. Nothing is written to out beyond count.
// practice: hard, next nms
#pragma once
#include "ladder.cuh"

#include <algorithm>

// kAny: the kept elements may be in any order and are compared as a multiset.
enum class CompactOrder { kOfX, kAny };

class Compact : public ladder::Problem {
 public:
  // x and out: n floats, no overlap, any alignment; x must not change. count is in device memory and overwritten.
  using Launch = void (*)(const float* x, float* out, std::int64_t* count, std::size_t n);

  // timed: the largest n that is timed. round: elements per iteration of a step's loop; if given, 3 iterations are
  // tested.
  explicit Compact(Launch launch, CompactOrder order = CompactOrder::kOfX, std::size_t timed = std::size_t{1} << 28,
                   std::size_t round = 0)
      : launch_(launch), order_(order), timed_(timed), round_(round) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "compact"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 36}};
  }
  // out is also an input: its elements beyond count must be unchanged after the run.
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::inout<float>("out", size[0]),
            ladder::output<std::int64_t>("count", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), device.at<std::int64_t>(2), size[0]);
  }

  // Returns the number of elements kept before each piece of x, then in all of x.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> kept{0};
    for (std::size_t begin = 0; begin < size[0]; begin += kPiece) {
      const float* x = host.at<const float>(0);
      const auto end = x + std::min(begin + kPiece, size[0]);
      kept.push_back(kept.back() + static_cast<double>(std::count_if(x + begin, end, is_kept)));
    }
    return kept;
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    std::fill(scale, scale + (range.end - range.begin), 0.0);
    const std::vector<double>& kept = host.digest();
    if (range.buffer == 2) {
      *want = kept.back();
      return;
    }
    std::size_t to = range.begin;
    // the last piece with no more kept elements before it than before the range
    const auto piece = std::upper_bound(kept.begin(), kept.end(), static_cast<double>(to)) - kept.begin() - 1;
    auto rank = static_cast<std::size_t>(kept[piece]);
    for (std::size_t i = piece * kPiece; i < size[0] && to < range.end; ++i) {
      const float x = host.at<const float>(0)[i];
      if (is_kept(x) && rank++ == to) want[to++ - range.begin] = x;
    }
    for (; to < range.end; ++to) want[to - range.begin] = host.at<const float>(1)[to];
  }
  double tolerance(const ladder::Size&) const override { return 0; }
  std::size_t in_any_order(const ladder::Arrays& host, const ladder::Size&, std::size_t buffer) const override {
    return buffer == 1 && order_ == CompactOrder::kAny ? static_cast<std::size_t>(host.digest().back()) : 0;
  }

  // Half of the random elements are kept. "runs": whole warps and tiles keep everything or nothing.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, random},  {"special", true, special}, {"runs", true, runs},   {"all kept", true, all},
            {"none kept", true, none}, {"last kept", true, last},  {"few kept", true, few}};
  }
  // Sizes near a warp, a block and tiles of 256, 1024 and 4096; several tiles; more tiles than one look-back step
  // covers.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {0,   1,   2,   3,   4,   5,    7,    8,    31,   32,   33,   127,   128,  129,
                                255, 256, 257, 511, 513, 1009, 1023, 1025, 4093, 4097, 9973, 16387, 70001}) {
      sizes.push_back({n});
    }
    if (round_ > 0) sizes.push_back({2 * round_ + 5});
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    if (timed_ <= std::size_t{1} << 24) return {};
    return {{(std::size_t{1} << 31) + 3}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {std::size_t{1} << 20, std::size_t{1} << 24, std::size_t{1} << 28}) {
      if (n <= timed_) sizes.push_back({n});
    }
    return sizes;
  }
  // For random data: x is read, half of out is written.
  double bytes(const ladder::Size& size) const override { return 6.0 * static_cast<double>(size[0]) + 8; }

 private:
  static constexpr std::size_t kPiece = 4096;
  static bool is_kept(float x) { return x > 0; }

  // out holds negative numbers before the run, which are never kept elements.
  static double before(std::size_t i) { return -1.0 - static_cast<double>(i % 1021); }
  template <typename Value>
  static double of(std::size_t buffer, std::size_t i, const Value& value) {
    return buffer == 1 ? before(i) : value();
  }
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return ladder::patterns::random(seed, buffer, i, n); });
  }
  static double special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return ladder::patterns::special(seed, buffer, ladder::hash(seed, 0, i) % 64, n); });
  }
  static double runs(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] {
      const bool keep = ladder::hash(seed, 1, i / 300) % 2 == 0;
      return std::copysign(1.5 + ladder::patterns::random(seed, buffer, i, n), keep ? 1.0 : -1.0);
    });
  }
  static double all(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return 1.5 + ladder::patterns::random(seed, buffer, i, n); });
  }
  static double none(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return -1.5 - ladder::patterns::random(seed, buffer, i, n); });
  }
  static double last(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return i + 1 == n ? 3.0 : 0.0; });
  }
  static double few(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return of(buffer, i, [&] { return ladder::hash(seed, 2, i) % 500 == 0 ? static_cast<double>(i + 1) : -0.0; });
  }

  Launch launch_;
  CompactOrder order_;
  std::size_t timed_, round_;
};
