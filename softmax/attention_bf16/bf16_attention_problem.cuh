// Base of attention_bf16 and attention_bf16_window: the error bound.
#pragma once
#include "../attention_problem.cuh"
#include "tensor_core_error.hpp"

#include <cuda_bf16.h>

class Bf16AttentionProblem : public AttentionProblem {
 public:
  // AttentionProblem::any_roundings on a tensor core: 2.5 u per product, not u, and 2.5 u for a partly filled group.
  static std::size_t any_roundings(std::size_t keys) { return AttentionProblem::any_roundings(keys) + 5 * keys; }

  explicit Bf16AttentionProblem(Roundings roundings) : AttentionProblem(roundings) {}

  // The error E of O before rounding is that of attention_problem.cuh, with three differences. A score is a tensor
  // core's sum of d exact products: |error| <= (tensor_core_gamma(d) + 2 u) A_j, including the rounded scale and its
  // product. exp is off by at most 4 u, also with ex2.approx (2^-22: PTX ISA, 9.7.3.21), which returns 0 for a p_j
  // below 2^-126. Each p_j is rounded to BF16, off by a factor between 1 - 2^-8 and 1 + 2^-8. With the same r, the
  // second part is at most ((1 + 2^-8) (1 + gamma_r) - 1) (M + |O|), O and M = sum p_j |V_j| / sum p_j with the
  // computed p_j. M is at most sum p_j exp(D_j) |V_j| / sum p_j exp(-D_j). Rounding is monotonic, so the result is one
  // of the BF16 numbers from BF16(O - E) to BF16(O + E).
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const double gamma = AttentionProblem::tolerance(size), relative = (1 + 1.0 / 256) * (1 + gamma) - 1;
    const Rounding rounding = {tensor_core_gamma(width(size)) + 2 * ladder::kUnitRoundoff,
                               std::numeric_limits<float>::min()};
    const auto scale_of = [=](const Row& row, std::size_t c, double& x) {
      const double exact = row.want[c];
      const double error =
          relative * (row.most_magnitude[c] + std::fabs(exact) + row.score_error[c]) + row.score_error[c];
      x = to_bf16(exact);
      if (!std::isfinite(exact) || !std::isfinite(error)) return std::numeric_limits<double>::infinity();
      return std::max(to_bf16(exact + error) - x, x - to_bf16(exact - error));
    };
    const auto visible = [&](std::size_t row) { return attended(host, size, row); };
    reference<__nv_bfloat16>(host, size, range, want, scale, rounding, scale_of, visible);
  }
  double tolerance(const ladder::Size&) const override { return 1; }

  // "last key": up to 250 keys over all heads, scores are 128 apart in BF16 too, and below 2^16 times log2(e). With
  // that rounding the maximum's own p_j is 2^(2^-9) at most, and O still rounds to the exact result.
  bool exact(const ladder::Size& size) const override { return size[0] * size[2] * width(size) <= 64 * 250; }

 protected:
  // Returns the keys that a row of O, counted over all heads, attends to.
  virtual Attended attended(const ladder::Arrays&, const ladder::Size& size, std::size_t row) const {
    return AttentionProblem::attended(size, row % size[1]);
  }
  static std::vector<ladder::Buffer> bf16_arrays(const ladder::Size& size) {
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) {
      throw ladder::UsageError("BF16 tensor cores are needed, which GPUs have from sm_80 on");
    }
    return arrays<__nv_bfloat16>(size);
  }

 private:
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }
};
