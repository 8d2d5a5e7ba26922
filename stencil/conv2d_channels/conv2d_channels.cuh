// Convolution of NHWC images with many channels, in BF16.
// K filters of 3 x 3 x C, stride 1, padding 1, so results have the images' height and width:
//   out[n][h][w][k] = sum over i, j = 0..2 and c of filters[k][i][j][c] * in[n][h + i - 1][w + j - 1][c],
// accumulated in FP32 and rounded once, to nearest even. Channels are innermost in all arrays: `in` is
// N x H x W x C, `filters` K x 3 x 3 x C (KRSC), `out` N x H x W x K, without gaps. Filters aren't mirrored, as in deep
// learning.
// Outside an image `in` is 0: the row above image n isn't the last row of image n - 1.
//
// NaN and infinity among the pixels propagate to the 3 x 3 results around them. Weights must be finite: in the padding
// an infinite weight gives NaN if 0 is multiplied and nothing if the tap is skipped, and libraries do either.
// practice: hard, next jacobi2d
#pragma once
#include "sampled_rows.cuh"
#include "tensor_core_error.hpp"

#include <cuda_bf16.h>

class Conv2dChannels : public ladder::Problem {
 public:
  // Arrays don't overlap; pointers need only element alignment. N H W is below 2^31, C and K are at most 2^20, and any
  // of them may be 0. With C = 0 results are 0.
  using Launch = void (*)(const __nv_bfloat16* in, const __nv_bfloat16* filters, __nv_bfloat16* out, std::size_t N,
                          std::size_t H, std::size_t W, std::size_t C, std::size_t K);

  explicit Conv2dChannels(Launch launch) : launch_(launch) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "conv2d_channels"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1, channels = 1 << 20;
    return {
        {"n", 32, 2, most}, {"h", 56, 11, most}, {"w", 56, 13, most}, {"c", 64, 24, channels}, {"k", 64, 70, channels}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const double pixels = 1.0 * size[0] * size[1] * size[2];
    if (pixels >= 0x1p31) throw ladder::UsageError("--n: 2^31 pixels or more are too many");
    const std::size_t count = size[0] * size[1] * size[2];
    return {ladder::input<__nv_bfloat16>("in", count * size[3]),
            ladder::input<__nv_bfloat16>("filters", size[4] * 9 * size[3]),
            ladder::output<__nv_bfloat16>("out", count * size[4])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<__nv_bfloat16>(2), size[0],
            size[1], size[2], size[3], size[4]);
  }

  // A result is a sum of 9 C products. In FP32 it is within E = tensor_core_gamma(9 C) sum |w| |in| of the exact x, on
  // tensor cores or with FMA. Rounding is monotonic, so the result is between BF16(x - E) and BF16(x + E). The scale is
  // the larger distance of these two from BF16(x).
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const auto *in = host.at<const __nv_bfloat16>(0), *filters = host.at<const __nv_bfloat16>(1);
    const std::size_t H = size[1], W = size[2], C = size[3], K = size[4], pixels = size[0] * H * W;
    const double gamma = tensor_core_gamma(9 * C);
    for (std::size_t o = range.begin; o < range.end; ++o) {
      double &x = want[o - range.begin], &bound = scale[o - range.begin], magnitude = 0;
      const std::size_t pixel = o / K, h = pixel / W % H, w = pixel % W;
      x = 0, bound = std::numeric_limits<double>::infinity();
      if (!is_sampled_row(pixels, K, 9 * C, pixel)) continue;
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t row = h + tap / 3 - 1, col = w + tap % 3 - 1;  // wraps around below 0
        if (row >= H || col >= W) continue;
        const __nv_bfloat16* from = in + (pixel - w - h * W + row * W + col) * C;
        for (std::size_t c = 0; c < C; ++c) {
          const double product = number(from[c]) * number(filters[(o % K * 9 + tap) * C + c]);
          x += product;
          magnitude += std::fabs(product);
        }
      }
      const double exact = x, error = gamma * magnitude;
      x = to_bf16(exact);
      if (std::isfinite(exact)) bound = std::max(to_bf16(exact + error) - x, x - to_bf16(exact - error));
      if (bound == 0 && x == 0 && C > 0) bound = ladder::kEitherZero;
    }
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, tail_of_images},
            {"NaN in the images", false, one_special<&std::numeric_limits<double>::quiet_NaN, 2>},
            {"an infinite last pixel", false, one_special<&std::numeric_limits<double>::infinity, 1>}};
  }

  // N, H, W, C, K: empty; one pixel; images lower or narrower than a filter; several images in one tile; one filter;
  // around tiles of 128 pixels and 64 filters; channels around 8, 16 and 32; 9 C not a multiple of 32; long sums.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {
        {0, 5, 5, 8, 8},    {2, 0, 5, 8, 8},    {2, 5, 0, 8, 8},     {2, 5, 3, 0, 8},    {2, 5, 3, 8, 0},
        {1, 1, 1, 1, 1},    {1, 1, 1, 8, 8},    {5, 1, 1, 16, 9},    {3, 1, 7, 8, 4},    {3, 7, 1, 8, 4},
        {3, 2, 2, 8, 5},    {2, 2, 9, 3, 6},    {2, 9, 2, 3, 6},     {1, 3, 3, 8, 1},    {2, 4, 4, 40, 1},
        {2, 8, 8, 8, 64},   {1, 127, 1, 8, 63}, {1, 1, 129, 8, 65},  {1, 8, 16, 3, 64},  {3, 7, 7, 32, 66},
        {1, 12, 11, 24, 2}, {1, 5, 60, 8, 130}, {130, 1, 1, 4, 3},   {1, 2, 300, 5, 10}, {1, 260, 2, 16, 12},
        {4, 6, 11, 64, 40}, {1, 3, 2, 160, 70}, {1, 16, 16, 72, 72}, {2, 3, 4, 257, 5},  {1, 14, 14, 12, 129}};
    for (const std::size_t c : {2, 4, 5, 7, 9, 15, 17, 31, 33, 48, 63, 65, 128}) sizes.push_back({2, 3, 5, c, 11});
    return sizes;
  }
  // More than 2^31 elements in the images, or in the results.
  std::vector<ladder::Size> huge_sizes() const override { return {{3, 3345, 3345, 64, 1}, {3, 3345, 3345, 8, 66}}; }
  // Four layers of ResNet-50 and the first of VGG.
  std::vector<ladder::Size> bench_sizes() const override {
    return {{32, 56, 56, 64, 64},
            {32, 28, 28, 128, 128},
            {32, 14, 14, 256, 256},
            {32, 7, 7, 512, 512},
            {32, 224, 224, 3, 64}};
  }
  bool has_answer(const ladder::Size& size, std::size_t element) const override {
    return is_sampled_row(size[0] * size[1] * size[2], size[4], 9 * size[3], element / size[4]);
  }
  double flops(const ladder::Size& size) const override {
    return 18.0 * size[0] * size[1] * size[2] * size[3] * size[4];
  }
  // step 02's im2col matrix, and the filters with channels padded to a multiple of 8
  double scratch_bytes(const ladder::Size& size) const override {
    const std::size_t channels = ceil_div(size[3], 8) * 8;
    return 18.0 * channels * (1.0 * size[0] * size[1] * size[2] + size[4]);
  }

 private:
  static double number(const __nv_bfloat16& value) { return static_cast<float>(value); }
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }

  // Only the last four elements of the images are not 0.
  static double tail_of_images(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 ? ladder::patterns::tail(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }
  // The special value is the last element of the first 1 / kPart of the images.
  template <double (*kValue)() noexcept, std::size_t kPart>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 0 && i + 1 == ceil_div(n, kPart) ? kValue() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
