// bug: the copy of the next K starts before all threads have computed their scores of this one
// caught by: cpu reverse | is wrong
// caught by: cpu-asan reverse | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --heads=1 --queries=40 --keys=70
// stage: races and barriers
#include "../attention.cuh"
#include "../../online_softmax.cuh"

#include <cuda_pipeline.h>

constexpr int kBlock = 128, BN = 32, kMostD = 128;

__global__ void attention_copied_too_early(const float* __restrict__ Q, const float* __restrict__ K,
                                           const float* __restrict__ V, float* __restrict__ O, unsigned tiles_m,
                                           long long queries, long long keys, int d, bool causal) {
  __shared__ float Ks[BN][kMostD], Vs[BN][kMostD];
  const int tid = threadIdx.x;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long i = static_cast<long long>(blockIdx.x % tiles_m) * kBlock + tid;
  const long long end = causal ? min(keys, i + keys - queries + 1) : keys;
  const float* const q = Q + (head * queries + min(i, queries - 1)) * d;
  K += head * keys * d;
  V += head * keys * d;
  float o[kMostD] = {}, max = -INFINITY, sum = 0.0f;
  const auto copy = [&](float(*to)[kMostD], const float* from, long long left) {
    for (int e = tid; e < BN * d; e += kBlock) {
      const bool inside = e / d < left;
      __pipeline_memcpy_async(&to[e / d][e % d], inside ? from + e : K, 4, inside ? 0 : 4);
    }
    __pipeline_commit();
  };
  if (keys > 0) copy(Ks, K, keys);
  for (long long key0 = 0; key0 < keys; key0 += BN) {
    __pipeline_wait_prior(0);
    __syncthreads();
    copy(Vs, V + key0 * d, keys - key0);
    float s[BN], new_max = max;
    for (int j = 0; j < BN; ++j) {
      s[j] = 0.0f;
      for (int c = 0; c < d; ++c) s[j] += q[c] * Ks[j][c];
      s[j] = key0 + j < end ? s[j] / sqrtf(static_cast<float>(d)) : -INFINITY;
      new_max = fmaxf(new_max, s[j]);
    }
    __pipeline_wait_prior(0);
    if (key0 + BN < keys) copy(Ks, K + (key0 + BN) * d, keys - key0 - BN);  // belongs after the barrier
    __syncthreads();
    const float shift = shift_for(new_max), rescale = expf(max - shift);
    max = new_max;
    sum *= rescale;
    for (int c = 0; c < d; ++c) o[c] *= rescale;
    for (int j = 0; j < BN; ++j) {
      const float p = expf(s[j] - shift);
      sum += p;
      for (int c = 0; c < d; ++c) o[c] += p * Vs[j][c];
    }
  }
  if (i >= queries) return;
  for (int c = 0; c < d; ++c) O[(head * queries + i) * d + c] = sum == 0.0f ? 0.0f : o[c] / sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, kBlock));
  attention_copied_too_early<<<static_cast<unsigned>(heads * tiles_m), kBlock>>>(Q, K, V, O, tiles_m, queries, keys, d,
                                                                                 causal);
  CUDA_CHECK(cudaGetLastError());
}

// exp, product and addition for each key, exp and product for each tile's rescaling; the division.
static std::size_t roundings(std::size_t keys) { return 4 + 2 * keys + 5 * ceil_div(keys, BN) + 1; }

LADDER_STEP(Attention, launch, roundings);
