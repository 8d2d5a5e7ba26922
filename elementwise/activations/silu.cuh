// SiLU: y[i] = x[i] / (1 + exp(-x[i])).
// Also called swish. NaN stays NaN; -infinity gives NaN (-infinity over infinity), as in PyTorch; +infinity stays.
// exp(-x) may overflow to infinity, and x / infinity is the -0 wanted.
// practice: easy, next gelu
#pragma once
#include "../unary.cuh"

class Silu : public Activation {
 public:
  using Activation::Activation;
  const char* kernel() const override { return "silu"; }

  // As sigmoid's: expf is within 2 ulp, 4 u, of which at most all reaches the sum; the addition and the division round
  // once each: 6 u, and 1 u for the second-order terms.
  double tolerance(const ladder::Size&) const override { return 7 * ladder::kUnitRoundoff; }

 protected:
  double value(double x) const override { return x / (1 + std::exp(-x)); }
  // exp(-x) is beyond the largest float where the true sigmoid is below one smallest normal (and the result then -0),
  // and the result may be subnormal: the error is absolute there, one smallest normal times x, or times 1 for small x.
  double error_scale(double x, double want) const override {
    const double least = std::max(1.0, std::abs(x)) * std::numeric_limits<float>::min();
    return std::abs(want) + least / (7 * ladder::kUnitRoundoff);
  }
};
