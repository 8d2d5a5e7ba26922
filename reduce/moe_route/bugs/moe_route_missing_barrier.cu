// bug: no barrier between the last read of the experts' counters and their update for the next tile
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --tokens=256 --experts=64 --k=6
// stage: races and barriers
#include "../../block_scan.cuh"
#include "../best_experts.cuh"

constexpr int kBlock = 256;

__global__ void moe_route_missing_barrier(const float* __restrict__ logits, int* __restrict__ chosen,
                                          float* __restrict__ weights, std::size_t tokens, int experts, int k) {
  const std::size_t token = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (token >= tokens) return;
  BestExperts<kMostChosen> best;
  for (int e = 0; e < experts; ++e) best.offer(logits[token * experts + e], e);
  best.store(chosen + token * k, weights + token * k, k);
}

// One block: one tile of 256 entries after another, one bit per entry.
__global__ void moe_route_missing_barrier_number(const int* __restrict__ chosen, int* __restrict__ offsets,
                                                 int* __restrict__ places, int entries, int experts) {
  __shared__ unsigned bits[kMostExperts / 32][kMostExperts];
  __shared__ int next[kMostExperts];
  const int e = threadIdx.x, warp = e / 32;
  int count = 0;
  for (int i = 0; i < entries; ++i) count += chosen[i] == e;
  next[e] = block_scan<kMostExperts>(count).before;
  if (e < experts) offsets[e] = next[e];
  if (e == 0) offsets[experts] = entries;
  for (int first = 0; first < entries; first += kMostExperts) {
    const int i = first + e, mine = i < entries ? chosen[i] : 0;
    for (int w = 0; w < kMostExperts / 32; ++w) bits[w][e] = 0;
    __syncthreads();
    if (i < entries) atomicOr(&bits[warp][mine], 1u << e % 32);
    __syncthreads();
    int place = next[mine] + __popc(bits[warp][mine] & ((1u << e % 32) - 1));
    for (int w = 0; w < warp; ++w) place += __popc(bits[w][mine]);
    if (i < entries) places[i] = place;
    for (int w = 0; w < kMostExperts / 32; ++w) next[e] += __popc(bits[w][e]);
    __syncthreads();
  }
}

static void launch(const float* logits, int* chosen, float* weights, int* offsets, int* places, std::size_t tokens,
                   int experts, int k) {
  if (tokens > 0) {
    moe_route_missing_barrier<<<static_cast<unsigned>(ceil_div(tokens, kBlock)), kBlock>>>(logits, chosen, weights,
                                                                                           tokens, experts, k);
    CUDA_CHECK(cudaGetLastError());
  }
  moe_route_missing_barrier_number<<<1, kMostExperts>>>(chosen, offsets, places, static_cast<int>(tokens) * k, experts);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(MoeRoute, launch);
