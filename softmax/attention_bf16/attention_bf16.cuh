// Attention in BF16: O = softmax(Q K^T / sqrt(d)) V.
// For each head: shapes, mask and data are those of attention_problem.cuh.
// practice: hard, next attention_decode
#pragma once
#include "../attention_problem.cuh"
#include "tensor_core_error.hpp"

#include <cuda_bf16.h>

class AttentionBf16 : public AttentionProblem {
 public:
  // Q and O are heads x queries x d, K and V heads x keys x d, in BF16, row-major without gaps; d is 64 or 128. Nothing
  // overlaps, pointers need be aligned to an element only; heads, queries and keys may be 0. Scores and V are finite,
  // for masked keys too. Products of Q and K are exact; sums, maximum and exponentials are FP32; P = exp(s - m) is
  // rounded to BF16 before it multiplies V, O is rounded to BF16 once, to nearest, ties to even. The row sum may add
  // rounded or unrounded elements of P.
  using Launch = void (*)(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                          std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal);

  // As AttentionProblem::any_roundings on a tensor core: 2.5 u per product, not u, and 2.5 u where a group is not full.
  static std::size_t any_roundings(std::size_t keys) { return AttentionProblem::any_roundings(keys) + 5 * keys; }

  // copies_unaligned: where Q, K or V is not 16-byte aligned, the step copies it.
  explicit AttentionBf16(Launch launch, Roundings roundings = any_roundings, bool copies_unaligned = false)
      : AttentionProblem(roundings), launch_(launch), copies_unaligned_(copies_unaligned) {}

  const char* kernel() const override { return "attention_bf16"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (device_attribute(cudaDevAttrComputeCapabilityMajor) < 8) {
      throw ladder::UsageError("BF16 tensor cores are needed, which GPUs have from sm_80 on");
    }
    return arrays<__nv_bfloat16>(size);
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<__nv_bfloat16>(3), size[0], size[1], size[2], static_cast<int>(width(size)), size[4] != 0);
  }

  // The error E of O before rounding, as in attention_problem.cuh, except for three things. A score is a tensor core's
  // sum of d exact products, |error| <= (tensor_core_gamma(d) + 2 u) A_j with the rounded scale and its product. exp is
  // off by 4 u at most, by ex2.approx too (2^-22: PTX ISA, 9.7.3.21), which makes a p_j below 2^-126 0. And each p_j is
  // rounded to BF16, off by a factor between 1 - 2^-8 and 1 + 2^-8. With r as there, the second part is at most
  // ((1 + 2^-8) (1 + gamma_r) - 1) (M + |O|), O and M = sum p_j |V_j| / sum p_j with the p_j as computed: M is at
  // most sum p_j exp(D_j) |V_j| / sum p_j exp(-D_j). The result is one of the BF16 numbers from BF16(O - E) to
  // BF16(O + E), because rounding keeps the order of numbers.
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
    reference<__nv_bfloat16>(host, size, range, want, scale, rounding, scale_of);
  }
  double tolerance(const ladder::Size&) const override { return 1; }
  double scratch_bytes(const ladder::Size& size) const override {
    const double rows = static_cast<double>(size[1]) + 2 * static_cast<double>(size[2]);
    return copies_unaligned_ ? 2 * static_cast<double>(size[0]) * rows * static_cast<double>(width(size)) : 0;
  }
  // Also more tiles of 128 keys than stages; more tiles of queries than SMs, some of them without keys.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = AttentionProblem::test_sizes();
    sizes.push_back({1, 130, 391, 128, 1});
#ifndef CUDA_EMU  // the CPU backend has no step to which it matters
    const auto sms = static_cast<std::size_t>(sm_count());
    sizes.push_back({2 * sms + 1, 2, 260, 0, 1});
    sizes.push_back({2 * sms + 1, 1, 260, 128, 0});
    sizes.push_back({sms + 1, 200, 5, 0, 1});
#endif
    return sizes;
  }

  // Of "last key": up to 250 keys of all heads its scores are 128 apart in BF16, too, and below 2^16 times log2(e): so
  // rounded, the maximum's own p_j is 2^(2^-9) at most, and O is still rounded to what it would be.
  bool exact(const ladder::Size& size) const override { return size[0] * size[2] * width(size) <= 64 * 250; }

 private:
  static double to_bf16(double value) { return static_cast<float>(__double2bfloat16(value)); }

  Launch launch_;
  bool copies_unaligned_;
};
