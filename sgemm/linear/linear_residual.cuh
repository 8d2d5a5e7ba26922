// A linear layer plus a residual, BF16: C += A W^T + bias.
// Before the call C holds the residual, afterwards the sum, as in x = x + layer(...). Sum, bias and residual are added
// in FP32.
// practice: hard, next gemm_int8
#pragma once
#include "layer.cuh"

class LinearResidual : public Layer {
 public:
  using Layer::Layer;
  const char* kernel() const override { return "linear_residual"; }

 private:
  double activation(double z, double&) const override { return z; }
  bool reads_c() const override { return true; }
};

// For cuBLASLt, whose product may be rounded to BF16 before the residual is added, as seen with cuBLAS in gemm_bf16.
class LinearResidualByLibrary : public LinearResidual {
 public:
  using LinearResidual::LinearResidual;
  bool exact(const ladder::Size&) const override { return false; }

 private:
  double rounded_before() const override { return 1.0 / (1 << 8); }
};
