// y[i] = x[i] if x[i] is not below 0, else 0. Bit-equal; NaN stays NaN and -0 stays -0.
#pragma once
#include "../unary.cuh"

class Relu : public Unary {
 public:
  using Unary::Unary;
  const char* kernel() const override { return "relu"; }

 protected:
  double value(double x) const override { return x < 0 ? 0.0 : x; }
};
