// Attention of one query token per sequence, over a KV cache.
// Query head h of a sequence attends to all keys of KV head h / groups (grouped-query attention), as decode_problem.cuh
// defines it. K and V are BF16; sums and out are FP32. Lengths differ; a sequence without keys gives 0.
// practice: medium, next attention_decode_paged
#pragma once
#include "decode_problem.cuh"

class AttentionDecode : public DecodeProblem {
 public:
  // q and out are sequences x (kv_heads * groups) x 128, K and V sequences x keys x kv_heads x 128, row-major without
  // gaps. Sequence s has lengths[s] keys, from 0 to `keys`. K and V may hold anything after them. Up to the length,
  // scores and V are finite or NaN. Arrays do not overlap and need only be aligned to an element. Any dimension may be
  // 0.
  using Launch = void (*)(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                          float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups,
                          std::size_t keys);

  explicit AttentionDecode(Launch launch, bool on_tensor_cores = false)
      : DecodeProblem(on_tensor_cores), launch_(launch) {}

  const char* kernel() const override { return "attention_decode"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    std::vector<ladder::Buffer> all = inputs(size, static_cast<double>(size[0]) * static_cast<double>(size[3]));
    all.push_back(result(size));
    return all;
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<const int>(3), device.at<float>(4), size[0], size[1], size[2], size[3]);
  }

 private:
  Launch launch_;
};
