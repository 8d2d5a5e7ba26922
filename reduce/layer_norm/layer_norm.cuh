// Layer normalisation of each row x of a row-major rows x cols matrix:
//   y_c = (x_c - mean) / sqrt(variance + epsilon) * gamma_c + beta_c,
// with the row's mean, its variance as the mean of (x_c - mean)^2 (divided by cols, not by cols - 1), and a gamma and a
// beta for each column. A row of one element gives beta. A row with NaN or an infinity in it is NaN; no other row is.
#pragma once
#include "../row_norm.cuh"

class LayerNorm : public RowNorm {
 public:
  // x and y hold rows * cols floats, a row directly behind the other; gamma and beta cols floats; nothing overlaps. No
  // pointer need be 16-byte aligned, nor need cols be a multiple of 4. Either may be 0; rows is below 2^31.
  using Launch = void (*)(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows,
                          std::size_t cols, float epsilon);

  // Without a bound of its own, that of sums and merges in any order.
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

  // For each row: the mean, s = sqrt(variance + epsilon), and X, the largest |x|.
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

  // The roundings that tolerance() asks for, by the way in which a step finds mean and variance. Errors to first order,
  // in units of u, with z = (x - mean) / s; `height` is the longest chain of additions on the way into a row's sum
  // (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 1.9 and 4.2).
  //
  // y = (x - mean) q gamma + beta, with q = 1 / s. If the mean is wrong by delta and q by a share of rho, then y is
  // wrong by |gamma| (delta / s + |z| (rho + 4)) + 2 |beta|: a subtraction, two products, and the sum.
  //
  // Two passes: delta = (height + 3) X, as the division by cols and cols itself are rounded too. The mean of
  // (x - mean - delta)^2 is variance + delta^2, which makes q smaller by a share of at most 0.71 delta / s; it is wrong by
  // another (height + 6) of itself, and q by half of that and 5 (kRsqrt). So y is wrong by
  // |gamma| ((height + 3) X / s (1 + |z|) + |z| (height / 2 + 12)) + 2 |beta|, which is at most height + 12 times the
  // scale above.
  static std::size_t two_passes(std::size_t height) { return height + 12; }

  // Parts of a row, such as what a warp has: each by two passes, and then the mean of their means, and the squared
  // distances of these from it, `levels` times. The part's and the whole's mean are wrong by delta = (height + 3 levels
  // + 3) X each. The root of a sum of squares is a length: by the triangle inequality it is wrong by at most
  // (1 + 2 levels) delta.
  static std::size_t parts(std::size_t height, std::size_t levels) {
    return (1 + 2 * levels) * (height + 3 * levels + 12);
  }

  // Welford's update and Chan's merge: `chain` updates in a thread, then `tree` levels of merges. A merge moves the mean
  // by share * d, where d is the distance of two means, at most 2 X, with four roundings, and rounds the mean, at most X,
  // once. The shares are 1, 1/2, 1/3 ... in a chain and at most 1/2 in a tree: delta is at most
  // (chain + tree + 8 (1 + ln chain + tree / 2)) X. The sum of squares is one of w d^2 over all merges, where the
  // weights w are below 1 in a chain and a quarter of the elements in each level of a tree; each d is wrong by 2 delta.
  // By the triangle inequality the deviation is wrong by 2 delta sqrt(1 + tree / 4), and q by twice that share, as long
  // as that is below a half.
  static std::size_t welford(std::size_t chain, std::size_t tree) {
    const double c = static_cast<double>(chain), t = static_cast<double>(tree);
    return static_cast<std::size_t>(4 * std::sqrt(1 + t / 4) * (c + t + 8 * (1 + std::log(c + 1) + t / 2)) + 12);
  }

  // More than any of these asks for: a chain of all elements, and as many levels of merges as halve the row.
  static std::size_t any_order(std::size_t cols) {
    std::size_t levels = 1;
    while (cols >> levels) ++levels;
    return std::max(welford(cols, levels), parts(ceil_div(cols, 32) + 5, 5));
  }

 private:
  Launch launch_;
};
