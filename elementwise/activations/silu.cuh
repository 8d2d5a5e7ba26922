// SiLU: y[i] = x[i] / (1 + exp(-x[i])).
// Also called swish. NaN and +infinity are unchanged; -infinity gives NaN (-infinity over infinity), as in PyTorch.
// exp(-x) may overflow to infinity; x / infinity is then -0, which is correct.
// practice: easy, next swiglu
#pragma once
#include "../unary.cuh"

class Silu : public Activation {
 public:
  using Activation::Activation;
  const char* kernel() const override { return "silu"; }

  // As for sigmoid: 4 u of expf, one rounding each in the addition and the division, 1 u for second-order terms.
  double tolerance(const ladder::Size&) const override { return 7 * ladder::kUnitRoundoff; }

 protected:
  double value(double x) const override { return x / (1 + std::exp(-x)); }
  // exp(-x) overflows only if the true sigmoid is below the smallest normal, and the result may be subnormal. In both
  // cases the error is absolute: the smallest normal times max(1, |x|).
  double error_scale(double x, double want) const override {
    const double least = std::max(1.0, std::abs(x)) * std::numeric_limits<float>::min();
    return std::abs(want) + least / (7 * ladder::kUnitRoundoff);
  }
};
