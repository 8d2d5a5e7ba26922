// ReLU: y[i] = x[i], or 0 if x[i] is below 0.
// The result is bit-equal to the reference. NaN stays NaN, and -0 stays -0.
// practice: easy, next sigmoid
#pragma once
#include "../unary.cuh"

class Relu : public Unary {
 public:
  using Unary::Unary;
  const char* kernel() const override { return "relu"; }

 protected:
  double value(double x) const override { return x < 0 ? 0.0 : x; }
};
