// A layer's GELU is the tanh formula, not the one by erf: gelu(z) = z / 2 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))).
// Sums, bias and GELU are FP32. NaN and +infinity stay; -infinity gives NaN (-infinity times 0), as in PyTorch.
#pragma once
#include "layer.cuh"

class GeluLayer : public Layer {
 public:
  using Layer::Layer;
  bool exact(const ladder::Size&) const override { return false; }  // tanh isn't

 private:
  // gelu'(z) is between -0.13 and 1.13, so it multiplies an error of z by at most 1.13. FP32 adds at most 9 |z| u, u =
  // 2^-24, in either form, with t = sqrt(2 / pi) (z + 0.044715 z^3), in which no sum cancels.
  // - z s, s = 1 / (1 + exp(-2 t)), by exp2f or __expf: at most 8 roundings reach 2 t, and __expf is within
  //   2 + 1.173 |2 t| ulp (CUDA C++ Programming Guide), 4 u + 2.35 |2 t| u. As s (1 - s) <= 1/4 and |2 t| s (1 - s) <
  //   0.23, they make 3.4 u of s. The sum adds 1 u, a quotient of 2 ulp 4 u.
  // - z / 2 (1 + tanh t): 7 roundings reach t, and |t| (1 - tanh^2 t) < 0.45 makes 3.2 u of them. tanhf is within 2 ulp
  //   (same table), 2 u, and the sum rounds by 2 u. Half of that is 3.6 u; the products add 1 u.
  // Results below the smallest normal float may be 0.
  double activation(double z, double& error) const override {
    const double size = std::fabs(z), least = std::max(1.0, size) * std::numeric_limits<float>::min();
    error = 1.13 * error + 9 * ladder::kUnitRoundoff * size + least + formula_error(z);
    return z / (1 + std::exp(-2 * 0.79788456080286535588 * (z + 0.044715 * z * z * z)));
  }
  virtual double formula_error(double /*z*/) const { return 0; }
};

// For cuBLASLt, whose rounding isn't documented: its product may be rounded to BF16 before the bias is added, as seen
// with cuBLAS in gemm_bf16, and its tanh may be tanh.approx.f32, with an error of 2^-11.
template <typename Problem>
class ByLibrary : public Problem {
 public:
  using Problem::Problem;

 private:
  double rounded_before() const override { return 1.0 / (1 << 8); }
  double formula_error(double z) const override { return std::fabs(z) / (1 << 12); }
};
