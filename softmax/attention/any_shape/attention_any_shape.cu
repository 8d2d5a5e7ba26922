// Attention for any shape, by a measured choice (any_shape.cuh): 3xtf32 or cp_async for many queries, with or without
// fast TF32 tensor cores; split_keys for few queries with many keys, as in decoding.
#include "../attention_08_cp_async.cu"
#include "../attention_09_3xtf32.cu"
#include "../attention_10_split_keys.cu"
#include "../../attention_call.cuh"

static const Candidate<AttentionCall<float>> kCandidates[] = {
    {"3xtf32", [](const AttentionCall<float>&) { return device_attribute(cudaDevAttrComputeCapabilityMajor) >= 8; },
     launch_call<float, launch_3xtf32>},
    {"cp_async", accepts_all, launch_call<float, launch_cp_async>},
    {"split_keys", accepts_all, launch_call<float, launch_split_keys>}};

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  launch_fastest(kCandidates, {Q, K, V, O, heads, queries, keys, d, causal});
}

// any_roundings bounds FFMA in any order, and so two of the three; step 09 derives the bound for TF32 products.
static std::size_t roundings_of_any(std::size_t keys) {
  return std::max(Attention::any_roundings(keys), roundings_3xtf32(keys));
}

LADDER_STEP(Attention, launch, roundings_of_any);
