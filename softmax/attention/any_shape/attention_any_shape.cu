// Attention for any shape: three steps of the ladder, and a measured choice.
//   3xtf32      many queries, and tensor cores with a high TF32 rate
//   cp_async    many queries, on GPUs whose FFMA rate is more than a third of their TF32 rate, or before sm_80
//   split_keys  few queries of many keys, as when decoding; many heads of few queries
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

// any_roundings holds for FFMA in any order, and so for two of the three; step 09 derives that of TF32 products.
static std::size_t roundings_of_any(std::size_t keys) {
  return std::max(Attention::any_roundings(keys), roundings_3xtf32(keys));
}

LADDER_STEP(Attention, launch, roundings_of_any);
