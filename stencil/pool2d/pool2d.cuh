// Max and mean pooling of images.
// out[p][r][c] = max or mean of in[p][r s - q + i][c s - q + j] over i, j = 0..k-1: windows of k x k pixels with stride
// s, on planes (images times channels) with padding q on all sides. There are (rows + 2 q - k) / s + 1 output rows,
// rounded down, and none if the padded image is lower than the window; columns likewise.
//
// Padding is ignored: the maximum is over the pixels inside the image, so padding acts as -infinity, not 0; the mean
// divides by the number of pixels inside (PyTorch's count_include_pad=False). A window entirely in the padding has the
// maximum -infinity and the mean 0. A NaN in a window makes its result NaN.
// practice: easy, next sample
#pragma once
#include "ladder.cuh"

#include <cmath>

// The sizes that kernels need. Rows and columns are below 2^24, so indices along one axis of a plane fit in an int.
struct PoolShape {
  std::int64_t planes;
  int rows, cols, out_rows, out_cols, k, stride, padding;

  // Along an axis of `length` pixels, the window of output o has the pixels first(o) to last(o, length) - 1 inside.
  __host__ __device__ int first(int o) const { return o * stride - padding > 0 ? o * stride - padding : 0; }
  __host__ __device__ int last(int o, int length) const {
    return o * stride - padding + k < length ? o * stride - padding + k : length;
  }
};

inline std::size_t pooled(std::size_t length, std::size_t k, std::size_t stride, std::size_t padding) {
  return length + 2 * padding < k ? 0 : (length + 2 * padding - k) / stride + 1;
}

inline PoolShape pool_shape(std::size_t planes, std::size_t rows, std::size_t cols, int k, int stride, int padding) {
  return {static_cast<std::int64_t>(planes),
          static_cast<int>(rows),
          static_cast<int>(cols),
          static_cast<int>(pooled(rows, k, stride, padding)),
          static_cast<int>(pooled(cols, k, stride, padding)),
          k,
          stride,
          padding};
}

// Reduces a window to its mean or its maximum.
template <bool kMean>
struct Pool {
  static __device__ float nothing() { return kMean ? 0.0f : -INFINITY; }
  static __device__ float join(float a, float b) {
    if (kMean) return a + b;
    return a > b || a != a ? a : b;  // keeps NaN; fmaxf would return the other operand
  }
  static __device__ float result(float v, int count) {
    return kMean ? (count > 0 ? v / static_cast<float>(count) : 0) : v;
  }
};

class Pool2d : public ladder::Problem {
 public:
  // in is planes x rows x cols, out is planes x out_rows x out_cols, row-major without gaps. They don't overlap and
  // need not be 16-byte aligned. k is 1 to 16, stride 1 to 8, padding 0 to 64, rows and cols below 2^24. planes, rows
  // and cols may be 0; with padding there may be outputs even if rows or cols is 0.
  using Launch = void (*)(const float* in, float* out, std::size_t planes, std::size_t rows, std::size_t cols, int k,
                          int stride, int padding, bool mean);

  explicit Pool2d(Launch launch) : launch_(launch) {}

  const char* family() const override { return "stencil"; }
  const char* kernel() const override { return "pool2d"; }
  // k = 0 means 3, stride = 0 means 2.
  std::vector<ladder::Dim> dims() const override {
    return {{"planes", 2048, 3, std::size_t{1} << 31},
            {"rows", 112, 61, (1 << 24) - 1},
            {"cols", 112, 83, (1 << 24) - 1},
            {"k", 0, 0, 16},
            {"stride", 0, 0, 8},
            {"padding", 0, 0, 64},
            {"mean", 0, 0, 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1] + 128) * static_cast<double>(size[2] + 128) > 1e13) {
      throw ladder::UsageError("--planes: " + std::to_string(size[0]) + " planes are too many");
    }
    return {ladder::input<float>("in", size[0] * size[1] * size[2]),
            ladder::output<float>("out", size[0] * outputs(size, 1) * outputs(size, 2))};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1], size[2], static_cast<int>(window(size)),
            static_cast<int>(stride(size)), static_cast<int>(size[5]), size[6] != 0);
  }

  // scale: for a mean the mean of the magnitudes. A maximum must be exact, except that 0 may have either sign.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float* in = host.at<const float>(0);
    const PoolShape s = pool_shape(size[0], size[1], size[2], static_cast<int>(window(size)),
                                   static_cast<int>(stride(size)), static_cast<int>(size[5]));
    const std::size_t out_rows = s.out_rows, out_cols = s.out_cols;
    for (std::size_t n = range.begin; n < range.end; ++n) {
      const int row = static_cast<int>(n / out_cols % out_rows), col = static_cast<int>(n % out_cols);
      const float* plane = in + n / out_cols / out_rows * size[1] * size[2];
      double sum = 0, magnitude = 0, most = -std::numeric_limits<double>::infinity(), count = 0;
      for (int r = s.first(row); r < s.last(row, s.rows); ++r) {
        for (int c = s.first(col); c < s.last(col, s.cols); ++c) {
          const double pixel = plane[static_cast<std::size_t>(r) * size[2] + c];
          sum += pixel, magnitude += std::fabs(pixel), ++count;
          if (!(pixel <= most) && !std::isnan(most)) most = pixel;
        }
      }
      const bool mean = size[6] != 0;
      want[n - range.begin] = mean ? (count > 0 ? sum / count : 0) : most;
      double& bound = scale[n - range.begin];
      bound = mean && count > 0 ? magnitude / count + ladder::kEitherZero / tolerance(size) : 0;  // or it underflows
      if (!mean && most == 0) bound = ladder::kEitherZero;
    }
  }

  // A pixel takes part in at most k^2 - 1 additions, in any order, and a division, or a product with a rounded
  // reciprocal: at most k^2 + 1 roundings (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1).
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(window(size) * window(size) + 1) * ladder::kUnitRoundoff;
    return nu / (1 - nu);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"negative", false, negative},
            {"NaN in the middle", false, one_special<&std::numeric_limits<double>::quiet_NaN>},
            {"one infinity", false, one_special<&std::numeric_limits<double>::infinity>},
            {"special", false, special}};
  }

  // Empty, smaller than the window, windows of one pixel and of the whole image, gaps between windows, windows entirely
  // in the padding, around tile sizes.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t mean : {0, 1}) {
      for (const ladder::Size& size : std::initializer_list<ladder::Size>{
               {0, 5, 5, 3, 2, 0},     {2, 0, 5, 3, 2, 0},    {1, 0, 0, 2, 1, 3},     {2, 2, 2, 3, 1, 0},
               {1, 1, 1, 1, 1, 0},     {3, 1, 1, 3, 1, 1},    {2, 3, 3, 3, 3, 0},     {1, 2, 1, 2, 1, 5},
               {2, 3, 4, 2, 2, 7},     {1, 5, 7, 3, 8, 9},    {2, 9, 11, 2, 3, 0},    {1, 17, 70, 1, 2, 0},
               {3, 16, 64, 2, 2, 0},   {2, 17, 65, 3, 2, 1},  {2, 31, 33, 3, 1, 1},   {1, 32, 32, 3, 1, 1},
               {2, 33, 31, 5, 2, 2},   {1, 40, 41, 16, 1, 8}, {1, 70, 300, 16, 8, 0}, {2, 65, 130, 7, 4, 3},
               {70, 7, 7, 7, 1, 0},    {5, 14, 14, 2, 2, 0},  {1, 1, 257, 3, 2, 1},   {1, 257, 1, 3, 2, 1},
               {1, 130, 131, 3, 2, 1}, {2, 61, 83, 0, 0, 0},  {1, 33, 66, 4, 2, 64}}) {
        sizes.push_back({size[0], size[1], size[2], size[3], size[4], size[5], mean});
      }
    }
    return sizes;
  }
  // More than 2^31 pixels in and out; more planes than gridDim.y allows; a long row.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{70001, 200, 160, 3, 1, 1, 0}, {9, 16, (1 << 24) - 1, 2, 1, 0, 1}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{2048, 112, 112, 3, 2, 1, 0},
            {2048, 112, 112, 2, 2, 0, 1},
            {512, 224, 224, 3, 1, 1, 0},
            {8, 4096, 4096, 3, 2, 1, 0},
            {2048, 112, 112, 5, 1, 2, 1}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t k = 1 + draw.below(7);
    return draw_lengths(draw, bytes, {0, 0, 0, k, 1 + draw.below(4), draw.below(k / 2 + 1), draw.below(2)});
  }
  double flops(const ladder::Size& size) const override {
    return static_cast<double>(window(size) * window(size)) * static_cast<double>(size[0]) *
           static_cast<double>(outputs(size, 1)) * static_cast<double>(outputs(size, 2));
  }

 protected:
  static std::size_t window(const ladder::Size& size) { return size[3] ? size[3] : 3; }
  static std::size_t stride(const ladder::Size& size) { return size[4] ? size[4] : 2; }
  static std::size_t outputs(const ladder::Size& size, std::size_t axis) {
    return pooled(size[axis], window(size), stride(size), size[5]);
  }

 private:
  // -2 to -1: a 0 from the padding would be the maximum.
  static double negative(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return -1.5 + ladder::patterns::random(seed, buffer, i, n) / 2;
  }
  template <double (*kValue)() noexcept>
  static double one_special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return i == n / 2 ? kValue() : ladder::patterns::random(seed, buffer, i, n);
  }
  // Zeros, subnormals and infinities of both signs; sums of the finite values don't overflow.
  static double special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), least = 0x1p-149;
    constexpr double values[] = {0.0, -0.0, least, -least, 0x1p-126, 1.0, -1.0, -infinity, -infinity, infinity, 1e30};
    return values[ladder::hash(seed, buffer, i) % (sizeof values / sizeof *values)];
  }

  Launch launch_;
};
