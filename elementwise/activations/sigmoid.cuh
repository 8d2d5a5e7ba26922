// Sigmoid: y[i] = 1 / (1 + exp(-x[i])).
// Correct for every x: exp(-x) may overflow to infinity, and 1 / infinity is 0.
// practice: easy, next silu
#pragma once
#include "../unary.cuh"

class Sigmoid : public Activation {
 public:
  using Activation::Activation;
  const char* kernel() const override { return "sigmoid"; }

  // expf is within 2 ulp (CUDA C++ Programming Guide, table of maximum errors), 4 u. All of it may reach the sum.
  // The addition and the division round once each: 6 u, and 1 u for second-order terms.
  double tolerance(const ladder::Size&) const override { return 7 * ladder::kUnitRoundoff; }

 protected:
  double value(double x) const override { return 1 / (1 + std::exp(-x)); }
  // If the result is subnormal or exp(-x) overflows, the error is absolute: the smallest normal float.
  double error_scale(double, double want) const override {
    return want + std::numeric_limits<float>::min() / (7 * ladder::kUnitRoundoff);
  }
};
