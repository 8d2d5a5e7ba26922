// Layer normalisation of each row of a matrix.
// For each row x of a row-major rows x cols matrix, with one gamma and one beta per column:
//   y_c = (x_c - mean) / sqrt(variance + epsilon) * gamma_c + beta_c,
// where variance is the mean of (x_c - mean)^2, not divided by cols - 1: a row of one element gives beta. A NaN or an
// infinity makes its row NaN and no other.
// practice: medium, next layer_norm_grad
#pragma once
#include "../norm_problem.cuh"

class LayerNorm : public RowNorm {
 public:
  // x, y: rows * cols floats; gamma, beta: cols. No overlap, any alignment, any cols; both may be 0, rows < 2^31.
  using Launch = void (*)(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows,
                          std::size_t cols, float epsilon);

  // The default bound holds for sums and merges in any order.
  explicit LayerNorm(Launch launch, Roundings roundings = any_order) : RowNorm(roundings), launch_(launch) {}

  const char* kernel() const override { return "layer_norm"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require(size);
    return {ladder::input<float>("x", size[0] * size[1]), ladder::input<float>("gamma", size[1]),
            ladder::input<float>("beta", size[1]), ladder::output<float>("y", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<const float>(2), device.at<float>(3),
            size[0], size[1], size.scalars[0]);
  }

  // Returns for each row the mean, s = sqrt(variance + epsilon), and X, the largest |x|.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    return for_rows(size, 3, [&](std::size_t r, double* row) {
      const float* x = host.at<const float>(0) + r * size[1];
      double sum = 0, squares = 0, largest = 0;
      for (std::size_t c = 0; c < size[1]; ++c) {
        sum += x[c];
        largest = std::max<double>(largest, std::fabs(x[c]));
      }
      const double mean = sum / static_cast<double>(size[1]);
      for (std::size_t c = 0; c < size[1]; ++c) squares += (x[c] - mean) * (x[c] - mean);
      row[0] = mean;
      row[1] = std::sqrt(squares / static_cast<double>(size[1]) + size.scalars[0]);
      row[2] = largest;
    });
  }

  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const double *row = &host.digest()[k / size[1] * 3], mean = row[0], s = row[1], largest = row[2];
      const double g = host.at<const float>(1)[k % size[1]], b = host.at<const float>(2)[k % size[1]];
      const double z = (host.at<const float>(0)[k] - mean) / s;
      want[k - range.begin] = z * g + b;
      scale[k - range.begin] =
          std::fabs(g) * (largest / s * (1 + std::fabs(z)) + std::fabs(z)) + std::fabs(b) / 4 + ladder::kEitherZero;
    }
  }

  double flops(const ladder::Size& size) const override {  // a sum; subtract, square, sum; subtract, scale twice, shift
    return 8.0 * static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

 private:
  Launch launch_;
};
