// RGB bytes to gray bytes, bit for bit.
// gray = (19595 R + 38470 G + 7471 B + 32768) >> 16 for each pixel. These are BT.601's luma weights 0.299, 0.587 and
// 0.114 in units of 2^-16; they add up to 65536, so gray pixels, white included, are unchanged. 32768 is a half: the
// sum is rounded to nearest, ties up. The arithmetic is in integers, because a float result near a tie depends on the
// order of additions and on FMAs. It differs from the decimal weights' result only if that is within 0.0015 of a tie.
// practice: easy, next copy_offset
#pragma once
#include "ladder.cuh"

class RgbToGray : public ladder::Problem {
 public:
  // rgb has 3 bytes per pixel, gray one, row after row without gaps, at any address. They do not overlap; rgb must not
  // change. height and width may be 0.
  using Launch = void (*)(const std::uint8_t* rgb, std::uint8_t* gray, std::size_t height, std::size_t width);

  explicit RgbToGray(Launch launch) : launch_(launch) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "rgb_to_gray"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"height", 8192, 301, most}, {"width", 8192, 517, most}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t pixels = size[0] * size[1];
    if (pixels > std::size_t{1} << 38) {
      throw ladder::UsageError("--height: an image of " + std::to_string(size[0]) + " rows is too large");
    }
    return {ladder::input<std::uint8_t>("rgb", 3 * pixels), ladder::output<std::uint8_t>("gray", pixels)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const std::uint8_t>(0), device.at<std::uint8_t>(1), size[0], size[1]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = weighted(host.at<const std::uint8_t>(0) + 3 * i) >> 16;
      scale[i - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "near ties": the weights' rounding decides the result. "primaries": pure red, green or blue, some darker.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, random},
            {"near ties", true, near_ties},
            {"primaries", true, primaries},
            {"white", true, white}};
  }
  // Empty; around 4 and 16 pixels, a block and its tiles of 1024 and 4096 pixels; rows of any length.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0}, {0, 7}, {7, 0}, {1, 1}, {3, 5}, {33, 31}, {255, 257}, {301, 517}};
    for (const std::size_t width : {2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 255, 256, 1023, 1024, 1025, 4095, 4097, 8200}) {
      sizes.push_back({1, width});
    }
    return sizes;
  }
  // Bytes beyond 2^31 and 2^32, pixels beyond 2^31.
  std::vector<ladder::Size> huge_sizes() const override { return {{65537, 32771}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{1080, 1920}, {4096, 4096}, {8192, 8192}, {16384, 16384}};
  }
  // Three products, three additions and a shift for each pixel.
  double flops(const ladder::Size& size) const override {
    return 7 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static unsigned weighted(const std::uint8_t* rgb) {
    return 19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u;
  }
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return static_cast<double>(ladder::hash(seed, buffer, i) >> 56);
  }
  // Of 40 colours, the one whose weighted sum is nearest to a tie.
  static double near_ties(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    std::uint8_t best[3] = {};
    unsigned least = ~0u;
    for (std::uint64_t k = 0; k < 40; ++k) {
      const std::uint64_t h = ladder::hash(seed + k, buffer, i / 3);
      const std::uint8_t rgb[3] = {static_cast<std::uint8_t>(h), static_cast<std::uint8_t>(h >> 8),
                                   static_cast<std::uint8_t>(h >> 16)};
      const unsigned part = weighted(rgb) & 65535, distance = std::min(part, 65536 - part);  // to a whole number
      if (distance >= least) continue;
      least = distance;
      std::copy(rgb, rgb + 3, best);
    }
    return best[i % 3];
  }
  static double primaries(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    const std::uint64_t h = ladder::hash(seed, buffer, i / 3);
    return h % 3 != i % 3 ? 0 : h & 64 ? 255 : static_cast<double>(h >> 56);
  }
  static double white(std::uint64_t, std::size_t, std::size_t, std::size_t) { return 255; }

  Launch launch_;
};
