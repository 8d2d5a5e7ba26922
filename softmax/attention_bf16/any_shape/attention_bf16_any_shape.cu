// Attention in BF16 for any shape: a measured choice (any_shape.cuh) of three steps. wgmma: many queries, on sm_90.
// mma: many queries on other GPUs, or if wgmma's tiles would be mostly empty. split_keys: few queries with many keys.
#include "../attention_bf16_02_mma.cu"
#ifndef CUDA_EMU
#include "../attention_bf16_03_wgmma_tma.cu"
#endif
#include "../attention_bf16_04_split_keys.cu"
#include "../../attention_call.cuh"

static const Candidate<AttentionCall<__nv_bfloat16>> kCandidates[] = {
#ifndef CUDA_EMU
    {"wgmma",
     [](const AttentionCall<__nv_bfloat16>&) { return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9; },
     launch_call<__nv_bfloat16, launch_wgmma>},
#endif
    {"mma", accepts_all, launch_call<__nv_bfloat16, launch_mma>},
    {"split_keys", accepts_all, launch_call<__nv_bfloat16, launch_split_keys>}};

static void launch(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                   std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  launch_fastest(kCandidates, {Q, K, V, O, heads, queries, keys, d, causal});
}

LADDER_STEP(AttentionBf16, launch, AttentionBf16::any_roundings, true);
