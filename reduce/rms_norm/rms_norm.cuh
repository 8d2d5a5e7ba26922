// RMS normalisation of each row of a matrix.
// For each row x of a row-major rows x cols matrix, with one gamma per column:
//   y_c = x_c / sqrt(mean of x^2 + epsilon) * gamma_c.
// A NaN makes its row NaN. An infinity becomes NaN and makes the rest of its row 0. No other row changes.
// practice: medium, next add_rms_norm
#pragma once
#include "../norm_problem.cuh"

class RmsNorm : public RowNorm {
 public:
  // x, y: rows * cols floats; gamma: cols. No overlap, any alignment, any cols; both may be 0, rows < 2^31.
  using Launch = void (*)(const float* x, const float* gamma, float* y, std::size_t rows, std::size_t cols,
                          float epsilon);

  // The default bound holds for sums in any order.
  explicit RmsNorm(Launch launch, Roundings roundings = by_root_mean_square) : RowNorm(roundings), launch_(launch) {}

  const char* kernel() const override { return "rms_norm"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require(size);
    return {ladder::input<float>("x", size[0] * size[1]), ladder::input<float>("gamma", size[1]),
            ladder::output<float>("y", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), size[0], size[1],
            size.scalars[0]);
  }

  // Returns sqrt(mean of x^2 + epsilon) for each row.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    return for_rows(size, 1, [&](std::size_t r, double* row) {
      *row = root_mean_square(size, [&](std::size_t c) { return host.at<const float>(0)[r * size[1] + c]; });
    });
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const double y = host.at<const float>(0)[k] / host.digest()[k / size[1]] * host.at<const float>(1)[k % size[1]];
      want[k - range.begin] = y;
      scale[k - range.begin] = std::fabs(y) + ladder::kEitherZero;
    }
  }
  double flops(const ladder::Size& size) const override {  // square, sum; scale twice
    return 4.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  Launch launch_;
};
