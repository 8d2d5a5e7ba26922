// bug: the weights are a softmax over all experts, so they do not add up to 1
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../../block_scan.cuh"
#include "../best_experts.cuh"

constexpr int kBlock = 256;

__global__ void moe_route_softmax_of_all(const float* __restrict__ logits, int* __restrict__ chosen,
                                         float* __restrict__ weights, std::size_t tokens, int experts, int k) {
  const std::size_t token = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (token >= tokens) return;
  BestExperts<kMostChosen> best;
  for (int e = 0; e < experts; ++e) best.offer(logits[token * experts + e], e);
  float sum = 0.0f;
  for (int e = 0; e < experts; ++e) sum += expf(logits[token * experts + e] - best.logit(0));
#pragma unroll
  for (int i = 0; i < kMostChosen; ++i) {
    if (i >= k) break;
    chosen[token * k + i] = best.expert[i];
    weights[token * k + i] = expf(best.logit(i) - best.logit(0)) / sum;
  }
}

// One block, one thread per expert.
__global__ void moe_route_softmax_of_all_number(const int* __restrict__ chosen, int* __restrict__ offsets,
                                                int* __restrict__ places, int entries, int experts) {
  const int e = threadIdx.x;
  int count = 0;
  for (int i = 0; i < entries; ++i) count += chosen[i] == e;
  int next = block_scan<kMostExperts>(count).before;
  if (e < experts) offsets[e] = next;
  if (e == 0) offsets[experts] = entries;
  for (int i = 0; i < entries; ++i) {
    if (chosen[i] == e) places[i] = next++;
  }
}

static void launch(const float* logits, int* chosen, float* weights, int* offsets, int* places, std::size_t tokens,
                   int experts, int k) {
  if (tokens > 0) {
    moe_route_softmax_of_all<<<static_cast<unsigned>(ceil_div(tokens, kBlock)), kBlock>>>(logits, chosen, weights,
                                                                                          tokens, experts, k);
    CUDA_CHECK(cudaGetLastError());
  }
  moe_route_softmax_of_all_number<<<1, kMostExperts>>>(chosen, offsets, places, static_cast<int>(tokens) * k, experts);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(MoeRoute, launch);
