// Problem:  step 07 waits for each tile before it computes. Two blocks per SM hide only part of that.
// Idea:     cp.async: V is copied during Q K^T, the next K during P V. The buffer of K is free when P V begins, and
//           that of V when Q K^T begins, so no second buffer is needed.
// Expect:   1.1 to 1.3x step 07: no thread waits for a load, and no load passes through registers.
// Measured: 1.03x step 07, 41.4 TFLOP/s at 64x2048x2048 (H200).
// Next:     what share of the time do the exps take, and what could overlap with them?
#include "attention.cuh"
#include "attention_tile.cuh"

template <typename S, bool kAligned>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks)
    attention_cp_async(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                       float* __restrict__ O, unsigned heads, unsigned tiles_m, long long queries, long long keys,
                       bool causal) {
  constexpr int D = S::D, BM = S::BM, BN = S::BN, kPitch = S::kPitch;
  constexpr int kLanes = S::kLanes, kRows = S::kRows, kRowStep = S::kRowStep, kKeys = S::kKeys, kQuads = S::kQuads;
  [[maybe_unused]] constexpr int kUnroll = D == 64 ? 1 : 2;  // up to 256 multiply-adds of scores each
  extern __shared__ float4 smem[];
  float *const Qs = &smem->x, *const Ks = Qs + BM * D, *const Vs = Ks + BN * kPitch, *const Ps = Vs + BN * D;
  const int tid = threadIdx.x, row = S::row(), col = S::col(), turn = S::turn();
  const std::size_t head = blockIdx.x % heads;
  const long long row0 = static_cast<long long>(tiles_m - 1 - blockIdx.x / heads) * BM;  // the longest blocks first
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long end = min(keys, row0 + BM + ahead);      // no query of the block attends to later keys
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;

  const int copy_row = tid / (D / 4), copy_col = tid % (D / 4) * 4;
  const auto copy = [&](float* to, int pitch, const float* from, long long left) {
    copy_rows_async<BN, D, S::kThreads, kAligned>(to, pitch, from, left, copy_row, copy_col, K);
  };

  Rows<S> rows = {};
#pragma unroll
  for (float& max : rows.max) max = -INFINITY;
  if (end > 0) copy(Ks, kPitch, K, keys);
  load_queries<S, kAligned>(Qs, Q, queries - row0);

  for (long long key0 = 0; key0 < end; key0 += BN) {
    __pipeline_wait_prior(0);
    __syncthreads();  // K has arrived, and all threads have read the previous V
    copy(Vs, D, V + key0 * D, keys - key0);
    // scores
    float s[kRows][kKeys] = {};
#pragma unroll kUnroll
    for (int c = 0; c < D; c += 4) {
      float4 q[kRows], k[kKeys];
#pragma unroll
      for (int i = 0; i < kRows; ++i) q[i] = as4(Qs[(row + i * kRowStep) * D + (c ^ 4 * turn)]);
#pragma unroll
      for (int j = 0; j < kKeys; ++j) k[j] = as4(Ks[(col + j * kLanes) * kPitch + c]);
#pragma unroll
      for (int x = 0; x < 4; ++x) {
#pragma unroll
        for (int j = 0; j < kKeys; ++j) {
#pragma unroll
          for (int i = 0; i < kRows; ++i) s[i][j] += (&q[i].x)[x] * (&k[j].x)[x];
        }
      }
    }
    mask_scores<S>(s, key0, keys, row0 + ahead);
    online_softmax(rows, s, Ps);
    __pipeline_wait_prior(0);
    __syncthreads();  // V has arrived, and all threads have read K
    if (key0 + BN < end) copy(Ks, kPitch, K + (key0 + BN) * D, keys - key0 - BN);
      // O += P V
#pragma unroll 2
    for (int j = 0; j < BN; j += 4) {
      float4 p[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) p[i] = as4(Ps[(row + i * kRowStep) * BN + (j ^ kLanes * turn)]);
#pragma unroll
      for (int x = 0; x < 4; ++x) {
#pragma unroll
        for (int c = 0; c < kQuads; ++c) {
          const float4 v = as4(Vs[(j + x) * D + (c * kLanes + col) * 4]);
#pragma unroll
          for (int i = 0; i < kRows; ++i) {
            const float w = (&p[i].x)[x];
            float* const o = &rows.o[i][4 * c];
            o[0] += w * v.x, o[1] += w * v.y, o[2] += w * v.z, o[3] += w * v.w;
          }
        }
      }
    }
  }
  store_rows<S, kAligned>(rows, O, queries - row0);
}

template <typename S>
static void launch_shape(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                         std::size_t queries, std::size_t keys, bool causal) {
  const auto kernel = aligned_for<float4>(Q, K, V, O) ? attention_cp_async<S, true> : attention_cp_async<S, false>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, S::BM));
  const auto grid = static_cast<unsigned>(heads * tiles_m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kBytes));
  kernel<<<grid, S::kThreads, S::kBytes>>>(Q, K, V, O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

template <int D>
static void launch_cp_async_d(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                              std::size_t queries, std::size_t keys, bool causal) {
  const int most_shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const bool large = queries > BlockShape<D, false>::BM && most_shared >= BlockShape<D, true>::kBytes;
  (large ? launch_shape<BlockShape<D, true>> : launch_shape<BlockShape<D, false>>)(Q, K, V, O, heads, queries, keys,
                                                                                   causal);
}

static void launch_cp_async(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                            std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_cp_async_d<64> : launch_cp_async_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

// exp, multiplication, addition per key; exp, multiplication per rescaling; 16 lanes' sums; inverse, multiplication.
[[maybe_unused]] static std::size_t roundings(std::size_t keys) {
  return 4 + 2 * keys + 5 * ceil_div(keys, 32) + 4 + 2;
}

LADDER_STEP(Attention, launch_cp_async, roundings);
