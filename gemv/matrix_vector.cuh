// The common part of gemv and gemv_t: y = alpha op(A) x + beta y, where op(A) is A or its transpose. A is a row-major m
// x k matrix.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <cmath>

class MatrixVector : public ladder::Problem {
 public:
  // A has m rows of k floats. Row i starts at A + i * lda, with lda >= k. The gaps between rows must not be accessed,
  // and there is none after the last row. Pointers need not be 16-byte aligned, and lda need not be a multiple of 4.
  // The arrays don't overlap. m is below 2^31. m and k may be 0.
  // As in BLAS, y is not read if beta = 0, and A and x are not read if alpha = 0: a NaN there must not reach the
  // result.
  using Launch = void (*)(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                          float beta, float* y);

  explicit MatrixVector(Launch launch) : launch_(launch) {}

  const char* family() const override { return "gemv"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"m", 4096, 301, (std::size_t{1} << 31) - 1},
            {"k", 4096, 517, std::size_t{1} << 36},
            {"lda", 0, 0, std::size_t{1} << 36}};
  }
  std::vector<ladder::Scalar> scalars() const override { return {{"alpha", 1}, {"beta", 0}}; }

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t m = size[0], k = size[1];
    if (lda(size) < k) throw ladder::UsageError("--lda: must be 0 or at least k = " + std::to_string(k));
    if (static_cast<double>(m) * static_cast<double>(lda(size)) > 1e15) {
      throw ladder::UsageError("--m: a matrix of " + std::to_string(m) + " rows is too large");
    }
    const std::size_t a = m == 0 || k == 0 ? 0 : (m - 1) * lda(size) + k;  // no gap after the last row
    return {ladder::input<float>("A", a), ladder::input<float>("x", x_count(size)),
            ladder::inout<float>("y", y_count(size))};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(size[0], size[1], size.scalars[0], device.at<const float>(0), lda(size), device.at<const float>(1),
            size.scalars[1], device.at<float>(2));
  }

  // scale = |alpha| * (sum of |a| |x|) + |beta y|. If it is 0, +0 and -0 are both accepted: alpha * (0 * -1) is -0.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const double alpha = size.scalars[0], beta = size.scalars[1];
    const float* y = host.at<const float>(2);
    if (alpha != 0) {
      products(host, size, range, want, scale);
    } else {
      std::fill(want, want + (range.end - range.begin), 0.0);
      std::fill(scale, scale + (range.end - range.begin), 0.0);
    }
    for (std::size_t i = range.begin; i < range.end; ++i) {
      double &w = want[i - range.begin], &s = scale[i - range.begin];
      w *= alpha;
      s *= std::fabs(alpha);
      if (beta != 0) {
        w += beta * y[i];
        s += std::fabs(beta * y[i]);
      }
      if (s == 0 && alpha != 0 && x_count(size) > 0) s = ladder::kEitherZero;
    }
  }

  // The error of a sum of n products is at most gamma_n sum |a| |x|, gamma_n = n u / (1 - n u), in any order, with or
  // without fma (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (3.5), (3.11)): each product is
  // rounded once itself and at most n - 1 times by additions. Multiplying by alpha and adding beta y round twice more;
  // beta y itself is rounded twice. By Higham's lemma 3.1 the error is at most gamma_(n + 2) (|alpha| sum |a| |x| +
  // |beta| |y|). This also holds if beta y is computed first and up to n partial sums, each times alpha, are added to
  // it. Where n u isn't small, (n + 2) u replaces gamma_(n + 2) (Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34,
  // 2013).
  double tolerance(const ladder::Size& size) const override {
    const double nu = static_cast<double>(x_count(size) + 2) * ladder::kUnitRoundoff;
    return nu < 0.01 ? nu / (1 - nu) : nu;
  }
  // Multiples of 1/4 keep integers exact. A negative alpha turns a sum of 0 into -0, unless beta y is added.
  bool exact(const ladder::Size& size) const override {
    const double alpha = size.scalars[0], beta = size.scalars[1];
    const auto harmless = [](double v) { return std::fabs(v) <= 16 && 4 * v == std::floor(4 * v); };
    return harmless(alpha) && harmless(beta) && (alpha >= 0 || beta != 0);
  }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random},
            {"integer", true, ladder::patterns::integers},
            {"tail", true, tail_of_x},
            {"NaN in y", false, nan_in_y},
            {"NaN in x", false, nan_in_x},
            {"one infinity in A", false, infinity_in_a}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    ladder::Size size = Problem::random_size(draw, bytes);
    size.dims[2] = draw.leading(size[1]);
    return size;
  }
  double flops(const ladder::Size& size) const override { return 2.0 * elements(size); }
  ladder::Ceiling ceiling() const override { return ladder::Ceiling::read; }
  // the gaps between rows need not be read, and y is read only if beta is not 0
  double bytes(const ladder::Size& size) const override {
    const double y = static_cast<double>(y_count(size));
    return 4 * (elements(size) + static_cast<double>(x_count(size)) + (size.scalars[1] == 0 ? y : 2 * y));
  }

 protected:
  static std::size_t lda(const ladder::Size& size) { return size[2] ? size[2] : size[1]; }
  virtual std::size_t x_count(const ladder::Size& size) const = 0;
  virtual std::size_t y_count(const ladder::Size& size) const = 0;
  // Computes op(A) x and, for the error bound, |op(A)| |x|, both in double.
  virtual void products(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* sum,
                        double* magnitude) const = 0;

 private:
  static double elements(const ladder::Size& size) {
    return static_cast<double>(size[0]) * static_cast<double>(size[1]);
  }

  // x is 0 except for its last four elements
  static double tail_of_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 1 ? ladder::patterns::tail(seed, buffer, i, n) : ladder::patterns::integers(seed, buffer, i, n);
  }
  static double nan_in_y(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 2 ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double nan_in_x(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 1 && i == n - 1;
    return here ? std::numeric_limits<double>::quiet_NaN() : ladder::patterns::random(seed, buffer, i, n);
  }
  static double infinity_in_a(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    const bool here = buffer == 0 && i == n / 2;
    return here ? std::numeric_limits<double>::infinity() : ladder::patterns::random(seed, buffer, i, n);
  }

  Launch launch_;
};
