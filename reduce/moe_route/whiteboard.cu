#include <cuda_runtime.h>

#include <cmath>

// Ask: ties, NaN, and is it the softmax over all experts or over the chosen ones?
// Say: each token chooses on its own; then entries are sorted by expert, in token order. Places from an atomic counter
// per expert would follow the order of arrival, which changes from run to run.
// Say: greatest first. Ties go to the lower expert, because only a greater logit replaces it; NaN is the greatest.
__device__ bool above(float a, float b) { return a > b || (isnan(a) && !isnan(b)); }

// Say: one thread per token, k rounds over its row.
// Next: lanes read different rows. Stage 32 logits per token in shared memory, and keep a sorted list: one pass
// (moe_route_03).
__global__ void choose(const float* logits, int* chosen, float* weights, size_t tokens, int experts, int k) {
  const size_t t = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  logits += t * experts, chosen += t * k, weights += t * k;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) {
    int best = -1;
    for (int e = 0; e < experts; ++e) {
      bool free = true;
      for (int j = 0; j < i; ++j) free = free && chosen[j] != e;
      if (free && (best < 0 || above(logits[e], logits[best]))) best = e;
    }
    chosen[i] = best;
    sum += weights[i] = expf(logits[best] - logits[chosen[0]]);  // Say: the first is the greatest, so no overflow
  }
  for (int i = 0; i < k; ++i) weights[i] /= sum;
}

// Say: one block, one thread per expert: it counts its entries, which start after those of lower experts.
// Next: one block reads everything. With tiles: count, scan over the tiles, place by bits and popc (moe_route_02).
__global__ void number(const int* chosen, int* offsets, int* places, int entries, int experts) {
  __shared__ int counts[256];
  const int e = threadIdx.x;
  int count = 0, next = 0;
  for (int i = 0; i < entries; ++i) count += chosen[i] == e;
  counts[e] = count;
  __syncthreads();
  for (int lower = 0; lower < e; ++lower) next += counts[lower];
  offsets[e] = next;
  if (e + 1 == experts) offsets[experts] = entries;
  for (int i = 0; i < entries; ++i) {
    if (chosen[i] == e) places[i] = next++;
  }
}

cudaError_t launch(const float* logits, int* chosen, float* weights, int* offsets, int* places, size_t tokens,
                   int experts, int k) {
  if (tokens > 0) choose<<<(tokens + 127) / 128, 128>>>(logits, chosen, weights, tokens, experts, k);
  number<<<1, experts>>>(chosen, offsets, places, int(tokens * k), experts);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "moe_route.cuh"
#include "whiteboard.cuh"
LADDER_STEP(MoeRoute, checked<launch>);
