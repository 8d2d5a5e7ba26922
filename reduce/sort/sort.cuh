// Stable sort of float keys, each with a value.
// keys_out has the keys in ascending order, values_out the value of each. Equal keys keep their order, so the answer is
// unique. -0 equals +0, and both keep their signs. A NaN follows +infinity or, if its sign bit is set, precedes
// -infinity. NaN are ordered by their bits, larger magnitudes further out. cub::DeviceRadixSort has the same order.
// practice: hard, next moe_route
#pragma once
#include "ladder.cuh"
#include "runner/parallel.hpp"

class Sort : public ladder::Problem {
 public:
  // Four arrays of n elements, n < 2^32; no overlap, any alignment. keys and values must not be changed.
  using Launch = void (*)(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n);

  explicit Sort(Launch launch) : launch_(launch) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "sort"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 24, (1 << 14) + 13, (std::size_t{1} << 32) - 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("keys", size[0]), ladder::input<int>("values", size[0]),
            ladder::output<float>("keys_out", size[0]), ladder::output<int>("values_out", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const int>(1), device.at<float>(2), device.at<int>(3), size[0]);
  }

  // Returns the input index of each output pair, by sorting words of order and index.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    constexpr std::size_t piece = 1 << 20;
    const std::size_t n = size[0];
    std::vector<std::uint64_t> words(n);
    const auto at = [&](std::size_t i) { return words.begin() + static_cast<std::ptrdiff_t>(std::min(i, n)); };
    ladder::parallel_for(n, piece, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) words[i] = order(host.at<const float>(0)[i]) << 32 | i;
      std::sort(at(begin), at(end));
    });
    for (std::size_t width = piece; width < n; width *= 2) {
      ladder::parallel_for(n, 2 * width, [&](std::size_t begin, std::size_t end) {
        std::inplace_merge(at(begin), at(begin + width), at(end));
      });
    }
    std::vector<double> from(n);
    for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<double>(words[i] & 0xffffffff);
    return from;
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto from = static_cast<std::size_t>(host.digest()[i]);
      want[i - range.begin] = range.buffer == 2 ? double{host.at<const float>(0)[from]} : host.at<const int>(1)[from];
      scale[i - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "few keys" and "one key" give the right values only if the sort is stable.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, random}, {"few keys", true, few},    {"special", true, special}, {"rising", true, rising},
            {"zeros", true, zeros},   {"falling", true, falling}, {"NaN", true, nan},         {"one key", true, one}};
  }
  // Sizes near a warp, a thread's keys in step 02, a block, tiles of 2048 and 8192; several tiles with a short last
  // one.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n :
         {0, 1, 2, 3, 7, 31, 32, 33, 129, 255, 257, 513, 995, 2047, 2048, 2049, 4097, 6151, 8192, 8193, 20011}) {
      sizes.push_back({n});
    }
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 20}, {std::size_t{1} << 24}, {std::size_t{1} << 27}};
  }
  // Most steps have a second pair of arrays.
  double scratch_bytes(const ladder::Size& size) const override { return 8.5 * static_cast<double>(size[0]); }

 private:
  // Rises with the key: its bits as sign and magnitude, mapped to 32 bits with 2^31 for zero.
  static std::uint64_t order(float key) {
    std::uint32_t bits;
    std::memcpy(&bits, &key, sizeof bits);
    const std::int64_t magnitude = bits & 0x7fffffff;
    return static_cast<std::uint64_t>((std::int64_t{1} << 31) + (bits >> 31 ? -magnitude : magnitude));
  }

  // Distinct values in mixed order, so that each value identifies its input index.
  template <typename Key>
  static double of(std::size_t buffer, std::size_t i, const Key& key) {
    return buffer == 1 ? static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761u) : key();
  }
  // Random bits except those of NaN and infinity, so that every digit takes all values.
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return of(buffer, i, [&] {
      const std::uint64_t h = ladder::hash(seed, buffer, i);
      auto bits = static_cast<std::uint32_t>(h);
      if ((bits >> 23 & 255) == 255) bits ^= static_cast<std::uint32_t>(1 + (h >> 32) % 255) << 23;
      float key;
      std::memcpy(&key, &bits, sizeof key);
      return static_cast<double>(key);
    });
  }
  static double few(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return ladder::patterns::integers(seed, buffer, i, n); });
  }
  static double special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return ladder::patterns::special(seed, buffer, ladder::hash(seed, 0, i) % 64, n); });
  }
  static double rising(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t) {
    return of(buffer, i, [&] { return static_cast<double>(i) - 1000; });
  }
  static double falling(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t n) {
    return of(buffer, i, [&] { return static_cast<double>(n - i) - 1000; });
  }
  static double zeros(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return of(buffer, i, [&] { return ladder::hash(seed, buffer, i) % 2 ? -0.0 : 0.0; });
  }
  static double nan(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const std::uint64_t h = ladder::hash(seed, 7, i);
    return h % 4 ? few(seed, buffer, i, n) : of(buffer, i, [&] {
      return std::copysign(std::numeric_limits<double>::quiet_NaN(), h & 4 ? 1.0 : -1.0);
    });
  }
  static double one(std::uint64_t, std::size_t buffer, std::size_t i, std::size_t) {
    return of(buffer, i, [&] { return 0.1; });
  }

  Launch launch_;
};
