// Problem:  with the causal mask step 05 computes all scores and discards half of them.
// Idea:     skip tiles of keys that no query of the block attends to; compare indices only in tiles that the mask or
//           the last key cuts. The longest blocks start first, so the last wave has short ones.
// Expect:   1.8 to 2x step 05 at 64x2048x2048/causal=1, where 33 of 64 tiles remain on average. No gain without the
//           mask.
// Measured: 0.95x step 05, 21.6 TFLOP/s at 64x2048x2048 (H200).
// Why:      without the mask it is slower: blocks of all heads run at the same time, and their K and V, 67 MB, exceed
//           L2; step 05 takes one head after another (hypothesis, not tested).
// Next:     what does the FMA pipe wait for in the other tiles?
#include "attention.cuh"
#include "../online_softmax.cuh"  // group_max, group_sum, shift_for

// A warp's lanes form 4 rows of 8. Each has kRows rows 4 apart, kKeys keys of a tile 8 apart, kCols columns 8 apart.
constexpr int kWarps = 2, kThreads = 32 * kWarps;
constexpr int BN = 32, kKeys = BN / 8;
template <int D>
struct Shape {
  static constexpr int kRows = 512 / D, kCols = D / 8;
  static constexpr int BM = 4 * kRows * kWarps;
  static constexpr int kPitch = D + 1, kPitchP = BN + 8;  // floats between rows: no bank conflicts
  static constexpr int kBytes = 4 * (BM * kPitch + BN * kPitch + BN * D + BM * kPitchP);
};

template <int D>
__global__ void __launch_bounds__(kThreads)
    attention_skip_masked(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                          float* __restrict__ O, unsigned heads, unsigned tiles_m, long long queries, long long keys,
                          bool causal) {
  constexpr int kRows = Shape<D>::kRows, kCols = Shape<D>::kCols, BM = Shape<D>::BM;
  constexpr int kPitch = Shape<D>::kPitch, kPitchP = Shape<D>::kPitchP;
  extern __shared__ float smem[];
  float *const Qs = smem, *const Ks = Qs + BM * kPitch, *const Vs = Ks + BN * kPitch, *const Ps = Vs + BN * D;
  const int tid = threadIdx.x, col = tid % 8, row = tid / 32 * 4 * kRows + tid % 32 / 8;
  const std::size_t head = blockIdx.x % heads;
  const long long row0 = static_cast<long long>(tiles_m - 1 - blockIdx.x / heads) * BM;  // the longest blocks first
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long end = min(keys, row0 + BM + ahead);      // no query of the block attends to later keys
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;
  for (int e = tid; e < BM * D; e += kThreads) {
    Qs[e / D * kPitch + e % D] = row0 + e / D < queries ? Q[e] / sqrtf(D) : 0.0f;
  }
  float max[kRows], sum[kRows], o[kRows][kCols] = {};
#pragma unroll
  for (int i = 0; i < kRows; ++i) max[i] = -INFINITY, sum[i] = 0.0f;

  for (long long key0 = 0; key0 < end; key0 += BN) {
    // load: 0 past the last key
    __syncthreads();  // all threads have read the previous tiles
    for (int e = tid; e < BN * D; e += kThreads) {
      const bool inside = key0 + e / D < keys;
      Ks[e / D * kPitch + e % D] = inside ? K[key0 * D + e] : 0.0f;
      Vs[e] = inside ? V[key0 * D + e] : 0.0f;
    }
    __syncthreads();
    // scores
    float s[kRows][kKeys] = {};
#pragma unroll 8
    for (int c = 0; c < D; ++c) {
      float q[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) q[i] = Qs[(row + 4 * i) * kPitch + c];
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const float k = Ks[(col + 8 * j) * kPitch + c];
#pragma unroll
        for (int i = 0; i < kRows; ++i) s[i][j] += q[i] * k;
      }
    }
    // online softmax
    const bool cut = key0 + BN > min(keys, row0 + ahead + 1);  // some row does not attend to all of the tile
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const long long last = min(keys - 1, row0 + row + 4 * i + ahead);  // the last key that the row attends to
      float m = max[i];
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        if (cut && key0 + col + 8 * j > last) s[i][j] = -INFINITY;
        m = fmaxf(m, s[i][j]);
      }
      m = group_max<8>(m);
      const float shift = shift_for(m), rescale = expf(max[i] - shift);
      max[i] = m;
      sum[i] *= rescale;  // this lane's keys; the lanes' sums are added at the end
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const float p = expf(s[i][j] - shift);
        sum[i] += p;
        Ps[(row + 4 * i) * kPitchP + col + 8 * j] = p;
      }
#pragma unroll
      for (int c = 0; c < kCols; ++c) o[i][c] *= rescale;
    }
    __syncwarp();  // no other warp reads these rows of Ps
                   // O += P V
#pragma unroll 8
    for (int j = 0; j < BN; ++j) {
      float p[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) p[i] = Ps[(row + 4 * i) * kPitchP + j];
#pragma unroll
      for (int c = 0; c < kCols; ++c) {
        const float v = Vs[j * D + col + 8 * c];
#pragma unroll
        for (int i = 0; i < kRows; ++i) o[i][c] += p[i] * v;
      }
    }
  }

  // store
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    sum[i] = group_sum<8>(sum[i]);
    const int r = row + 4 * i;
    if (row0 + r >= queries) continue;
#pragma unroll
    for (int c = 0; c < kCols; ++c) O[r * D + col + 8 * c] = sum[i] == 0.0f ? 0.0f : o[i][c] / sum[i];
  }
}

template <int D>
static void launch_d(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                     std::size_t keys, bool causal) {
  const auto kernel = attention_skip_masked<D>;
  constexpr int bytes = Shape<D>::kBytes;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, Shape<D>::BM));
  const auto grid = static_cast<unsigned>(heads * tiles_m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(Q, K, V, O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_d<64> : launch_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

// exp, multiplication, addition for each key; exp, multiplication for each tile's rescaling; 8 lanes' sums; division.
static std::size_t roundings(std::size_t keys) { return 4 + 2 * keys + 5 * ceil_div(keys, BN) + 3 + 1; }

LADDER_STEP(Attention, launch, roundings);
