// Exact GELU: y[i] = x[i] Phi(x[i]).
// Phi is the cumulative normal distribution: y = x / 2 (1 + erf(x / sqrt 2)) (Hendrycks and Gimpel, arXiv 1606.08415),
// not the tanh formula. NaN and +infinity are unchanged; -infinity gives NaN (-infinity times 0), as in PyTorch.
// practice: easy, next add_2d
#pragma once
#include "../unary.cuh"

class Gelu : public Activation {
 public:
  using Activation::Activation;
  const char* kernel() const override { return "gelu"; }

  // The argument of erfcf, s = -x / sqrt 2, has two roundings, 2 u. erfc multiplies them by its condition number
  // 2 s exp(-s^2) / (sqrt(pi) erfc(s)): at most 2 s^2 + 1 = x^2 + 1 for s > 0 (Abramowitz and Stegun, 7.1.13), below 1
  // for s < 0. erfcf is within 4 ulp (CUDA C++ Programming Guide, table of maximum errors), 8 u, and two products round
  // once each. Together at most 2 (x^2 + 1) + 10 = 12 (1 + x^2 / 6) u, and 1 u for second-order terms.
  //
  // With x / 2 (1 + erff(x / sqrt 2)) the error is absolute where the sum cancels. erff is within 2 ulp (same table), 2
  // u for values up to 1; the 2 u of its argument add 2 u max(2 / sqrt(pi) s exp(-s^2)) < 1 u; both times |x| / 2. The
  // sum and the products add 3 u of the result, less than the bound above.
  double tolerance(const ladder::Size&) const override { return 13 * ladder::kUnitRoundoff; }

 protected:
  double value(double x) const override { return 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
  // If erfc is subnormal or 0 (x < -13), or the result is, the error is absolute: smallest normal times max(1, |x|).
  double error_scale(double x, double want) const override {
    const double least = std::max(1.0, std::abs(x)) * std::numeric_limits<float>::min();
    return std::abs(want) * (x < 0 ? 1 + x * x / 6 : 1) + std::abs(x) * 1.5 / 13 + least / (13 * ladder::kUnitRoundoff);
  }
};
