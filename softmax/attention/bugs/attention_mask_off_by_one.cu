// bug: the mask also hides the last visible key: j < i + keys - queries instead of <=
// caught by: cpu forward | causal=1, random data
// caught by: cpu-asan forward | causal=1, random data
// caught by: gpu | causal=1, random data
// stage: right
#include "../attention.cuh"
#include "../../online_softmax.cuh"

constexpr int kBlock = 128, BN = 32, kMostD = 128;

__global__ void attention_mask_off_by_one(const float* __restrict__ Q, const float* __restrict__ K,
                                          const float* __restrict__ V, float* __restrict__ O, unsigned tiles_m,
                                          long long queries, long long keys, int d, bool causal) {
  __shared__ float Ks[BN][kMostD], Vs[BN][kMostD];
  const int tid = threadIdx.x;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long i = static_cast<long long>(blockIdx.x % tiles_m) * kBlock + tid;
  const long long end = causal ? min(keys, i + keys - queries) : keys;  // + 1
  const float* const q = Q + (head * queries + min(i, queries - 1)) * d;
  K += head * keys * d;
  V += head * keys * d;
  float o[kMostD] = {}, max = -INFINITY, sum = 0.0f;
  for (long long key0 = 0; key0 < keys; key0 += BN) {
    for (int e = tid; e < BN * d; e += kBlock) {
      const bool inside = key0 + e / d < keys;
      Ks[e / d][e % d] = inside ? K[key0 * d + e] : 0.0f;
      Vs[e / d][e % d] = inside ? V[key0 * d + e] : 0.0f;
    }
    __syncthreads();
    float s[BN], new_max = max;
    for (int j = 0; j < BN; ++j) {
      s[j] = 0.0f;
      for (int c = 0; c < d; ++c) s[j] += q[c] * Ks[j][c];
      s[j] = key0 + j < end ? s[j] / sqrtf(static_cast<float>(d)) : -INFINITY;
      new_max = fmaxf(new_max, s[j]);
    }
    const float shift = shift_for(new_max), rescale = expf(max - shift);
    max = new_max;
    sum *= rescale;
    for (int c = 0; c < d; ++c) o[c] *= rescale;
    for (int j = 0; j < BN; ++j) {
      const float p = expf(s[j] - shift);
      sum += p;
      for (int c = 0; c < d; ++c) o[c] += p * Vs[j][c];
    }
    __syncthreads();
  }
  if (i >= queries) return;
  for (int c = 0; c < d; ++c) O[(head * queries + i) * d + c] = sum == 0.0f ? 0.0f : o[c] / sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, kBlock));
  attention_mask_off_by_one<<<static_cast<unsigned>(heads * tiles_m), kBlock>>>(Q, K, V, O, tiles_m, queries, keys, d,
                                                                                causal);
  CUDA_CHECK(cudaGetLastError());
}

// exp, product and addition for each key, exp and product for each tile's rescaling; the division.
static std::size_t roundings(std::size_t keys) { return 4 + 2 * keys + 5 * ceil_div(keys, BN) + 1; }

LADDER_STEP(Attention, launch, roundings);
