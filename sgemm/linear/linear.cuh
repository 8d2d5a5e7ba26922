// A linear layer with GELU, in BF16: C = gelu(A W^T + bias).
// practice: hard, next linear_batched
#pragma once
#include "gelu_layer.cuh"

class Linear : public GeluLayer {
 public:
  using GeluLayer::GeluLayer;
  const char* kernel() const override { return "linear"; }
};
