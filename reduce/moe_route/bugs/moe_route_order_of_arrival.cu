// bug: an entry gets its place from its expert's atomic counter, so tokens are in the order of arrival
// caught by: cpu reverse | is wrong
// caught by: gpu | is wrong
// stage: races and barriers
#include "../../block_scan.cuh"
#include "../best_experts.cuh"

constexpr int kBlock = 256;

__global__ void moe_route_order_of_arrival(const float* __restrict__ logits, int* __restrict__ chosen,
                                           float* __restrict__ weights, std::size_t tokens, int experts, int k) {
  const std::size_t token = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (token >= tokens) return;
  BestExperts<kMostChosen> best;
  for (int e = 0; e < experts; ++e) best.offer(logits[token * experts + e], e);
  best.store(chosen + token * k, weights + token * k, k);
}

// One block. next: the place of each expert's next entry.
__global__ void moe_route_order_of_arrival_number(const int* __restrict__ chosen, int* __restrict__ offsets,
                                                  int* __restrict__ places, int entries, int experts) {
  __shared__ int next[kMostExperts];
  const int e = threadIdx.x;
  next[e] = 0;
  __syncthreads();
  for (int i = e; i < entries; i += kMostExperts) atomicAdd(&next[chosen[i]], 1);
  __syncthreads();
  const int start = block_scan<kMostExperts>(next[e]).before;
  if (e < experts) offsets[e] = start;
  if (e == 0) offsets[experts] = entries;
  next[e] = start;
  __syncthreads();
  for (int i = e; i < entries; i += kMostExperts) places[i] = atomicAdd(&next[chosen[i]], 1);
}

static void launch(const float* logits, int* chosen, float* weights, int* offsets, int* places, std::size_t tokens,
                   int experts, int k) {
  if (tokens > 0) {
    moe_route_order_of_arrival<<<static_cast<unsigned>(ceil_div(tokens, kBlock)), kBlock>>>(logits, chosen, weights,
                                                                                            tokens, experts, k);
    CUDA_CHECK(cudaGetLastError());
  }
  moe_route_order_of_arrival_number<<<1, kMostExperts>>>(chosen, offsets, places, static_cast<int>(tokens) * k,
                                                         experts);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(MoeRoute, launch);
