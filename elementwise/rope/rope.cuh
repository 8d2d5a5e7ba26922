// Rotary position embedding (RoPE) in FP32.
// A head of d elements is d / 2 pairs (a, b). At position p, pair i is rotated by the angle p * 10000^(-2 i / d): a' =
// a cos - b sin, b' = a sin + b cos. The two elements are neighbours, a = x[2 i] and b = x[2 i + 1] (GPT-J, the paper),
// or half a head apart (halves), a = x[i] and b = x[i + d/2] (GPT-NeoX, Llama in most libraries).
// practice: easy, next rope_cache
#pragma once
#include "rope_reference.hpp"

class Rope : public ladder::Problem {
 public:
  // x and y are tokens x heads x d, without gaps. They do not overlap; 4-byte alignment is enough. position has an int
  // per token, 0 to 2^24. d is even, 2 to 1024; tokens < 2^31 and heads <= 2^20 may be 0. halves: see above.
  using Launch = void (*)(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads,
                          std::size_t d, bool halves);

  explicit Rope(Launch launch) : launch_(launch) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "rope"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"tokens", 16384, 37, (std::size_t{1} << 31) - 1},
            {"heads", 32, 5, std::size_t{1} << 20},
            {"pairs", 64, 32, kMostWidth / 2},
            {"halves", 0, 0, 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require_heads(size[0], size[1], size[2]);
    const std::size_t n = size[0] * size[1] * 2 * size[2];
    return {ladder::input<float>("x", n), ladder::input<int>("position", size[0]), ladder::output<float>("y", n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const int>(1), device.at<float>(2), size[0], size[1], 2 * size[2],
            size[3] != 0);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const std::size_t row = size[1] * 2 * size[2];
    for (std::size_t n = range.begin; n < range.end; ++n) {
      const std::size_t c = n % (2 * size[2]);
      const Rotated right =
          rotated(host.at<const float>(0) + (n - c), c, 2 * size[2], size[3] != 0, host.at<const int>(1)[n / row]);
      want[n - range.begin] = right.value;
      scale[n - range.begin] = right.error;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, random},
            {"position 0", true, at_zero},
            {"long", false, far},
            {"one NaN", false, one_special<&std::numeric_limits<double>::quiet_NaN>},
            {"one infinity", false, one_special<&std::numeric_limits<double>::infinity>}};
  }
  // Empty; one pair; heads that aren't whole float4; more pairs in a token than a block has threads; the widest head.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const ladder::Size& size : std::initializer_list<ladder::Size>{
             {0, 3, 4},  {3, 0, 4},   {1, 1, 1},   {5, 3, 1},   {4, 3, 2},   {7, 1, 3},  {3, 5, 4},
             {2, 3, 5},  {3, 2, 6},   {3, 3, 8},   {2, 7, 10},  {5, 2, 17},  {2, 5, 32}, {3, 4, 48},
             {9, 5, 64}, {2, 33, 65}, {70, 1, 32}, {1, 3, 512}, {2, 2, 511}, {3, 9, 128}}) {
      for (const std::size_t halves : {0, 1}) sizes.push_back({size[0], size[1], size[2], halves});
    }
    return sizes;
  }
  // More than 2^31 elements.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 19) + 3, 32, 64, 0}, {(1 << 19) + 3, 32, 65, 1}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{16384, 32, 64, 0}, {16384, 32, 64, 1}, {131072, 8, 32, 1}, {64, 32, 64, 1}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, 0, 0, draw.below(2)});
  }
  double flops(const ladder::Size& size) const override {  // four products and two sums per pair
    return 6.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }

 private:
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 1 ? static_cast<double>(ladder::hash(seed, buffer, i) % 2048)
                       : ladder::patterns::random(seed, buffer, i, n);
  }
  static double at_zero(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 1 ? 0 : ladder::patterns::integers(seed, buffer, i, n);
  }
  static double far(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 1 ? long_position(seed, buffer, i) : ladder::patterns::random(seed, buffer, i, n);
  }
  template <double (*kValue)() noexcept>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    if (buffer == 1) return short_position(seed, buffer, i);
    return i == n / 2 ? kValue() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
