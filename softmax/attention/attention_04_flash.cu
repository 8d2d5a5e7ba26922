// Problem:  in step 03 each thread loads all of K and V for itself, through L1.
// Idea:     FlashAttention: a block of queries shares tiles of K and V in shared memory. A thread computes its row's
//           scores of a tile, then rescales once per tile instead of once per key.
// Expect:   1 to 1.5x step 03: each multiply-add needs a broadcast word, one per clock and SM: 16 TFLOP/s at most.
// Measured: 4.76x step 03, 22.5 TFLOP/s at 64x2048x2048 (H200).
// Why:      one load brings four words (LDS.128), a quarter of a load for each. At d = 128 q and o spill.
// Next:     how can one word from shared memory serve several multiply-adds?
#include "attention.cuh"
#include "../online_softmax.cuh"  // shift_for

constexpr int kBlock = 128;  // queries
constexpr int BN = 32;       // keys of a tile

template <int D>
__global__ void attention_flash(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                                float* __restrict__ O, unsigned tiles_m, long long queries, long long keys,
                                bool causal) {
  __shared__ float Ks[BN][D], Vs[BN][D];
  const int tid = threadIdx.x;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long i = static_cast<long long>(blockIdx.x % tiles_m) * kBlock + tid;
  const long long end = causal ? min(keys, i + keys - queries + 1) : keys;  // query i attends to the keys before `end`
  Q += head * queries * D;
  O += head * queries * D;
  K += head * keys * D;
  V += head * keys * D;
  float q[D], o[D] = {}, max = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int c = 0; c < D; ++c) q[c] = i < queries ? Q[i * D + c] : 0.0f;

  for (long long key0 = 0; key0 < keys; key0 += BN) {
    // load: 0 past the last key
    for (int e = tid; e < BN * D; e += kBlock) {
      const bool inside = key0 + e / D < keys;
      Ks[e / D][e % D] = inside ? K[key0 * D + e] : 0.0f;
      Vs[e / D][e % D] = inside ? V[key0 * D + e] : 0.0f;
    }
    __syncthreads();
    // scores of the tile, and their maximum
    float s[BN], new_max = max;
#pragma unroll
    for (int j = 0; j < BN; ++j) {
      s[j] = 0.0f;
#pragma unroll
      for (int c = 0; c < D; ++c) s[j] += q[c] * Ks[j][c];
      s[j] = key0 + j < end ? s[j] / sqrtf(D) : -INFINITY;
      new_max = fmaxf(new_max, s[j]);
    }
    // rescale sum and o, add the tile
    const float shift = shift_for(new_max), rescale = expf(max - shift);
    max = new_max;
    sum *= rescale;
#pragma unroll
    for (int c = 0; c < D; ++c) o[c] *= rescale;
#pragma unroll
    for (int j = 0; j < BN; ++j) {
      const float p = expf(s[j] - shift);
      sum += p;
#pragma unroll
      for (int c = 0; c < D; ++c) o[c] += p * Vs[j][c];
    }
    __syncthreads();  // all threads have read the tiles
  }
  if (i >= queries) return;
#pragma unroll
  for (int c = 0; c < D; ++c) O[i * D + c] = sum == 0.0f ? 0.0f : o[c] / sum;
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, kBlock));
  const auto kernel = d == 64 ? attention_flash<64> : attention_flash<128>;
  kernel<<<static_cast<unsigned>(heads * tiles_m), kBlock>>>(Q, K, V, O, tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

// exp, multiplication and addition for each key; exp and multiplication for each tile's rescaling; the division.
static std::size_t roundings(std::size_t keys) { return 4 + 2 * keys + 5 * ceil_div(keys, BN) + 1; }

LADDER_STEP(Attention, launch, roundings);
