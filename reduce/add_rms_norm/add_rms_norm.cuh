// Residual addition, then RMS norm, row by row.
// The operations between two layers of a transformer, for each row of a row-major rows x cols matrix:
//   residual_c += x_c,   y_c = residual_c / sqrt(mean of residual^2 + epsilon) * gamma_c.
// The new residual is the float nearest to the sum, and y is computed from it. A NaN makes its row NaN. An infinity
// becomes NaN in y and makes the rest of its row 0. No other row changes.
// practice: medium, next layer_norm
#pragma once
#include "../norm_problem.cuh"

class AddRmsNorm : public RowNorm {
 public:
  // x, residual, y: rows * cols floats; gamma: cols. No overlap, any alignment, any cols; both may be 0, rows < 2^31.
  using Launch = void (*)(const float* x, const float* gamma, float* residual, float* y, std::size_t rows,
                          std::size_t cols, float epsilon);

  // The default bound holds for sums in any order.
  explicit AddRmsNorm(Launch launch, Roundings roundings = by_root_mean_square) : RowNorm(roundings), launch_(launch) {}

  const char* kernel() const override { return "add_rms_norm"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require(size);
    return {ladder::input<float>("x", size[0] * size[1]), ladder::input<float>("gamma", size[1]),
            ladder::inout<float>("residual", size[0] * size[1]), ladder::output<float>("y", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<float>(2), device.at<float>(3), size[0],
            size[1], size.scalars[0]);
  }

  // Returns sqrt(mean of residual^2 + epsilon) of the new residual, per row.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    return for_rows(size, 1, [&](std::size_t r, double* row) {
      *row = root_mean_square(size, [&](std::size_t c) { return sum(host, r * size[1] + c); });
    });
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const double z = sum(host, k);
      want[k - range.begin] = z;
      scale[k - range.begin] = 0;  // one rounding, always the same result
      if (range.buffer == 2) continue;
      const double y = z / host.digest()[k / size[1]] * host.at<const float>(1)[k % size[1]];
      want[k - range.begin] = y;
      scale[k - range.begin] = std::fabs(y) + ladder::kEitherZero;
    }
  }
  double flops(const ladder::Size& size) const override {  // add; square, sum; scale twice
    return 5.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  static float sum(const ladder::Arrays& host, std::size_t i) {
    return host.at<const float>(0)[i] + host.at<const float>(2)[i];
  }

  Launch launch_;
};
