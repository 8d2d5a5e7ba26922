// Attention of one query token per sequence, over a KV cache.
// Query head h of a sequence attends to all keys of KV head h / groups (grouped-query attention), as decode_problem.cuh
// defines it. K and V are BF16, sums are FP32, and so is out. Lengths differ; a sequence without keys gives 0.
// practice: medium, next attention_decode_paged
#pragma once
#include "decode_problem.cuh"

class AttentionDecode : public DecodeProblem {
 public:
  // q and out are sequences x (kv_heads * groups) x 128, K and V sequences x keys x kv_heads x 128, row-major without
  // gaps. A sequence has lengths[s] keys, from 0 to `keys`; what follows them in K and V may be anything. Up to the
  // length, scores and V are finite or NaN. Nothing overlaps, pointers need be aligned to an element only; any dimension
  // may be 0.
  using Launch = void (*)(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                          float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups,
                          std::size_t keys);

  explicit AttentionDecode(Launch launch) : launch_(launch) {}

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

  // Empty; one key, one head; around the keys that a warp has in flight; groups that are no power of 2 and more than 8;
  // keys for several splits.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 2, 4, 5, 0},    {3, 0, 4, 5, 0},   {3, 2, 0, 5, 0},    {3, 2, 4, 0, 0},   {1, 1, 1, 1, 0},
            {2, 1, 1, 2, 1},    {3, 2, 4, 3, 0},   {2, 3, 2, 7, 0},    {3, 1, 8, 8, 1},   {2, 2, 3, 9, 0},
            {5, 1, 4, 15, 1},   {4, 2, 1, 16, 1},  {1, 2, 7, 17, 0},   {2, 1, 5, 31, 0},  {2, 2, 4, 33, 0},
            {1, 1, 12, 64, 0},  {6, 1, 2, 65, 1},  {1, 1, 17, 100, 0}, {4, 2, 3, 131, 1}, {1, 3, 4, 300, 0},
            {3, 1, 2, 1100, 1}, {1, 1, 1, 2105, 0}};
  }
  // K alone has more than 2^31 elements, in a long sequence and in many; then q and out have, too.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{1, 8, 4, (1 << 21) + 35, 0}, {(1 << 19) + 3, 8, 4, 5, 1}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{64, 8, 4, 4096, 0},  {64, 8, 8, 4096, 0},  {64, 32, 1, 1024, 0},
            {256, 8, 4, 2048, 1}, {1, 8, 4, 131072, 0}, {4, 8, 4, 4096, 0}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t groups = 1 + draw.below(16);
    return draw_lengths(draw, bytes, {0, 0, groups, 0, draw.below(2)});
  }

 private:
  Token token_of(const ladder::Size& size, std::size_t slot) const override { return {slot / size[3], slot % size[3]}; }
  std::size_t slot_of(const ladder::Arrays&, const ladder::Size& size, Token token) const override {
    return token.sequence * size[3] + token.key;
  }

  Launch launch_;
};
