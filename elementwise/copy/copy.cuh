// Copies an array: y[i] = x[i].
// The copy is bit-equal, except for NaN payloads.
// practice: easy, next relu
#pragma once
#include "../unary.cuh"

class Copy : public Unary {
 public:
  using Unary::Unary;
  const char* kernel() const override { return "copy"; }

 protected:
  double value(double x) const override { return x; }
};
