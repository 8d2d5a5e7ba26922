// Batch normalisation in training, NCHW.
// x is n x c x hw, row-major: n images of c channels of hw pixels. For each channel, over its n * hw elements:
//   mean, variance = the mean of (x - mean)^2 (biased), rstd = 1 / sqrt(variance + epsilon),
//   y = (x - mean) * rstd * gamma + beta, with one gamma and one beta per channel.
// mean and rstd are results too; the gradient needs them. Running averages are left out. A NaN makes its channel NaN
// and no other. For n * hw = 0, mean and rstd are NaN. Infinities: not defined.
// practice: medium, next rms_norm
#pragma once
#include "../norm_problem.cuh"

#include <algorithm>

class BatchNorm : public RowNorm {
 public:
  // x, y: n * c * hw floats; gamma, beta, mean, rstd: c. No overlap, any alignment. Each length may be 0; c < 2^31.
  using Launch = void (*)(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd,
                          std::size_t n, std::size_t c, std::size_t hw, float epsilon);

  // Returns an upper bound for the roundings of a channel's mean and rstd, as RowNorm counts them.
  using Roundings = std::size_t (*)(std::size_t n, std::size_t hw);

  explicit BatchNorm(
      Launch launch, Roundings roundings = [](std::size_t n, std::size_t hw) { return any_order(n * hw); })
      : RowNorm(any_order), launch_(launch), roundings_(roundings) {}

  const char* kernel() const override { return "batch_norm"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = std::size_t{1} << 31;
    return {{"n", 32, 5, most - 1}, {"c", 256, 7, most - 1}, {"hw", 3136, 289, most - 1}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]) > 1e12) {
      throw ladder::UsageError("--n: " + std::to_string(size[0]) + " images are too large");
    }
    if (!(size.scalars[0] >= 1e-30f)) throw ladder::UsageError("--epsilon: must be at least 1e-30");
    const std::size_t count = size[0] * size[1] * size[2];
    return {ladder::input<float>("x", count),       ladder::input<float>("gamma", size[1]),
            ladder::input<float>("beta", size[1]),  ladder::output<float>("y", count),
            ladder::output<float>("mean", size[1]), ladder::output<float>("rstd", size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<const float>(2), device.at<float>(3),
            device.at<float>(4), device.at<float>(5), size[0], size[1], size[2], size.scalars[0]);
  }

  // Returns for each channel the mean, s = sqrt(variance + epsilon), and X, the largest |x|.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    std::vector<double> digest(3 * size[1]);
    ladder::parallel_for(size[1], 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t channel = begin; channel < end; ++channel) {
        const auto for_elements = [&](const auto& body) {
          for (std::size_t image = 0; image < size[0]; ++image) {
            const float* x = host.at<const float>(0) + (image * size[1] + channel) * size[2];
            for (std::size_t p = 0; p < size[2]; ++p) body(double{x[p]});
          }
        };
        const double count = static_cast<double>(size[0]) * static_cast<double>(size[2]);
        double sum = 0, squares = 0, largest = 0;
        for_elements([&](double x) { sum += x, largest = std::fmax(largest, std::fabs(x)); });
        for_elements([&](double x) { squares += (x - sum / count) * (x - sum / count); });
        digest[3 * channel] = sum / count;
        digest[3 * channel + 1] = std::sqrt(squares / count + size.scalars[0]);
        digest[3 * channel + 2] = largest;
      }
    });
    return digest;
  }

  // y as in LayerNorm::expect(). The error of the mean is at most the roundings times X. The relative error of rstd has
  // a part from that times X / s and a part from the sum of squares. RowNorm::two_passes() and welford() derive both.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const std::size_t channel = range.buffer == 3 ? k / size[2] % size[1] : k;
      const double *d = &host.digest()[3 * channel], mean = d[0], s = d[1], largest = d[2];
      double &w = want[k - range.begin], &e = scale[k - range.begin];
      if (range.buffer == 3) {
        const double g = host.at<const float>(1)[channel], b = host.at<const float>(2)[channel];
        const double z = (host.at<const float>(0)[k] - mean) / s;
        w = z * g + b;
        e = std::fabs(g) * (largest / s * (1 + std::fabs(z)) + std::fabs(z)) + std::fabs(b) / 4 + ladder::kEitherZero;
      } else if (range.buffer == 4) {
        w = mean;
        e = largest + ladder::kEitherZero;
      } else {
        w = 1 / s;
        e = (1 + largest / s) / s;
      }
    }
  }
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(roundings_(size[0], size[2])) * ladder::kUnitRoundoff;
    return nu < 0.01 ? nu / (1 - nu) : nu;
  }

  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> all = RowNorm::patterns();
    all.erase(std::remove_if(all.begin(), all.end(),
                             [](const ladder::Pattern& p) { return p.name == std::string("one infinity"); }),
              all.end());
    return all;
  }
  // Empty; one image, channel or pixel; planes smaller and larger than a block; many images; a channel that exceeds a
  // block's shared memory; more channels than resident blocks.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {
        {0, 3, 5},   {3, 0, 5},    {3, 5, 0},    {1, 1, 1},    {5, 3, 1},    {1, 70, 3},   {300, 2, 1},
        {257, 3, 2}, {7, 5, 49},   {64, 3, 49},  {2, 9, 196},  {3, 4, 255},  {2, 3, 256},  {2, 3, 257},
        {5, 2, 511}, {1, 3, 1024}, {4, 2, 1025}, {3, 2, 3136}, {1, 1, 8200}, {33, 1, 700}, {2, 1, 40003}};
    for (ladder::Size& size : sizes) size.scalars = {kEpsilon};
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override {
    return {{{683, 1025, 3136}, {kEpsilon}}, {{3, 5, (1 << 28) + 3}, {kEpsilon}}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{{32, 256, 3136}, {kEpsilon}},
            {{64, 64, 12544}, {kEpsilon}},
            {{128, 1024, 196}, {kEpsilon}},
            {{256, 2048, 49}, {kEpsilon}}};
  }
  double flops(const ladder::Size& size) const override {  // a sum; subtract, square, sum; subtract, scale twice, shift
    return 8.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]) * static_cast<double>(size[2]);
  }

 private:
  Launch launch_;
  Roundings roundings_;
};
