// Attention in BF16: O = softmax(Q K^T / sqrt(d)) V.
// Computed for each head; shapes, mask and data are those of attention_problem.cuh.
// practice: hard, next attention_bf16_window
#pragma once
#include "bf16_attention_problem.cuh"

class AttentionBf16 : public Bf16AttentionProblem {
 public:
  // Q and O are heads x queries x d, K and V heads x keys x d, in BF16, row-major without gaps. d is 64 or 128. Arrays
  // do not overlap and need only be aligned to an element. heads, queries and keys may be 0. Scores and V are finite,
  // also for masked keys. Products of Q and K are exact; sums, maximum and exponentials are FP32. P = exp(s - m) is
  // rounded to BF16 before it multiplies V. O is rounded to BF16 once, to nearest, ties to even. The row sum may add
  // rounded or unrounded elements of P.
  using Launch = void (*)(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                          std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal);

  // copies_unaligned: the step copies Q, K or V if it is not 16-byte aligned.
  explicit AttentionBf16(Launch launch, Roundings roundings = any_roundings, bool copies_unaligned = false)
      : Bf16AttentionProblem(roundings), launch_(launch), copies_unaligned_(copies_unaligned) {}

  const char* kernel() const override { return "attention_bf16"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override { return bf16_arrays(size); }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<__nv_bfloat16>(3), size[0], size[1], size[2], static_cast<int>(width(size)), size[4] != 0);
  }

  double scratch_bytes(const ladder::Size& size) const override {
    const double rows = static_cast<double>(size[1]) + 2 * static_cast<double>(size[2]);
    return copies_unaligned_ ? 2 * static_cast<double>(size[0]) * rows * static_cast<double>(width(size)) : 0;
  }
  // Adds sizes with more tiles of 128 keys than stages, and with more tiles of queries than SMs, some without keys.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = AttentionProblem::test_sizes();
    sizes.push_back({1, 130, 391, 128, 1});
#ifndef CUDA_EMU  // no step of the CPU backend depends on these
    const auto sms = static_cast<std::size_t>(sm_count());
    sizes.push_back({2 * sms + 1, 2, 260, 0, 1});
    sizes.push_back({2 * sms + 1, 1, 260, 128, 0});
    sizes.push_back({sms + 1, 200, 5, 0, 1});
#endif
    return sizes;
  }

 private:
  Launch launch_;
  bool copies_unaligned_;
};
