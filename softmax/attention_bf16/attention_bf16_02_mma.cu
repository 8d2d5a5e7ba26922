// Problem:  in step 01 scores, P and O go through shared memory, and the tensor cores wait for each tile.
// Idea:     FlashAttention-2 on mma.sync: the accumulators of Q K^T already have the layout of P V's A operand, so P
//           stays in registers. cp.async loads the next tile; masked tiles are skipped.
// Expect:   300 to 400 TFLOP/s on an H200, 1.0 to 1.2x PyTorch's flash kernel. At d = 128 fragment loads are the limit.
// Measured: 33x step 01, 294 TFLOP/s at 64x2048x2048 (H200).
// Why:      less than expected at 1024 and 2048: a scheduler has two warps, and a warp's exps wait for its MMAs.
// Next:     which instruction reads its operands from shared memory, without fragments? (wgmma, sm_90a)
// needs: sm_80
#include "attention_bf16.cuh"
#include "bf16_chunks.cuh"  // swizzled, load_chunk_guarded
#include "attention_bf16_tile.cuh"

constexpr int BM = 128, BN = 64;
// A warp owns 16 queries, or 32 at d = 64, where registers suffice: each fragment of K or V then feeds both halves.
template <int D>
constexpr int kHalves = D == 64 ? 2 : 1;
template <int D>
constexpr int kThreads = 2 * BM / kHalves<D>;
template <int D>
struct Stage {
  __nv_bfloat16 K[BN * D], V[BN * D];
};

// kAligned: Q, K, V and O are 16-byte aligned. Otherwise their elements are loaded and stored one by one.
template <int D, bool kAligned>
__global__ void __launch_bounds__(kThreads<D>, D == 64 ? 2 : 1)
    attention_bf16_mma(const __nv_bfloat16* __restrict__ Q, const __nv_bfloat16* __restrict__ K,
                       const __nv_bfloat16* __restrict__ V, __nv_bfloat16* __restrict__ O, unsigned heads,
                       unsigned tiles_m, long long queries, long long keys, bool causal) {
  extern __shared__ uint4 smem[];
  Stage<D>* const stages = reinterpret_cast<Stage<D>*>(smem);
  const int tid = threadIdx.x, lane = tid % 32, row = tid / 32 * 16 * kHalves<D> + lane / 4;  // and row + 8
  // Causal: the longest blocks start first. Otherwise a head's blocks are neighbours, so its K and V stay in L2.
  const unsigned tile = causal ? tiles_m - 1 - blockIdx.x / heads : blockIdx.x % tiles_m;
  const std::size_t head = causal ? blockIdx.x % heads : blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(tile) * BM;
  const long long ahead = causal ? keys - queries : keys;    // query i attends to the keys up to i + ahead
  const int all_see = last_key(row0, keys, ahead);           // all queries of the block attend to the keys up to here
  const int end = last_key(row0 + BM - 1, keys, ahead) + 1;  // no query of the block attends to a later key
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;

  // Starts copying the next tiles of K and V, from key0 on, in chunks of 8 elements. Past the end they become 0.
  const auto copy = [&](int key0) {
    Stage<D>& to = stages[key0 / BN % 2];
#pragma unroll
    for (int i = 0; i < BN * D / 8; i += kThreads<D>) {
      const int row = (i + tid) / (D / 8), at = swizzled<D>(row, (i + tid) % (D / 8));
      if constexpr (kAligned) {
        cp_async_16(&to.K[at], K + (i + tid) * 8, row < end - key0 ? 16 : 0);
        cp_async_16(&to.V[at], V + (i + tid) * 8, row < end - key0 ? 16 : 0);
      } else {
        reinterpret_cast<uint4&>(to.K[at]) = load_chunk_guarded(K + (i + tid) * 8, row < end - key0 ? 8 : 0);
        reinterpret_cast<uint4&>(to.V[at]) = load_chunk_guarded(V + (i + tid) * 8, row < end - key0 ? 8 : 0);
      }
    }
    cp_async_commit();
    K += BN * D;
    V += BN * D;
  };
  if (end > 0) copy(0);

  unsigned q[kHalves<D>][D / 16][4];  // the fragments of A, directly from global memory
#pragma unroll
  for (int h = 0; h < kHalves<D>; ++h) {
#pragma unroll
    for (int i = 0; i < D / 4; ++i) {
      const int r = row + 16 * h + i % 2 * 8;
      const __nv_bfloat16* from = Q + r * D + i / 2 * 8 + lane % 4 * 2;
      unsigned& to = q[h][i / 4][i % 4];
      if (row0 + r >= queries) {
        to = 0;
      } else if constexpr (kAligned) {
        to = *reinterpret_cast<const unsigned*>(from);
      } else {
        to = bf16_pair(__bfloat162float(from[0]), __bfloat162float(from[1]));
      }
    }
  }

  // The offset of this lane's ldmatrix row; because of the swizzle, ^ 16 moves two chunks to the right.
  const int k_at = swizzled<D>(lane / 16 * 8 + lane % 8, lane / 8 % 2), v_at = swizzled<D>(lane % 16, lane / 16);
  Rows<D> rows[kHalves<D>];
  for (int key0 = 0; key0 < end; key0 += BN) {
    cp_async_wait<0>();
    __syncthreads();  // this tile has arrived, and all threads have read the previous one
    if (end - key0 > BN) copy(key0 + BN);
    const Stage<D>& from = stages[key0 / BN % 2];
    // scores: a row of K is a column of the B operand K^T, so ldmatrix need not transpose
    float s[kHalves<D>][BN / 8][4] = {};
#pragma unroll
    for (int c = 0; c < D / 16; ++c) {
#pragma unroll
      for (int j = 0; j < BN / 16; ++j) {
        unsigned k[4];
        ldmatrix_x4(k, &from.K[(k_at ^ c * 16) + j * 16 * D]);
#pragma unroll
        for (int h = 0; h < kHalves<D>; ++h) {
          mma_m16n8k16_bf16(s[h][2 * j], q[h][c], k[0], k[1]);
          mma_m16n8k16_bf16(s[h][2 * j + 1], q[h][c], k[2], k[3]);
        }
      }
    }
#pragma unroll
    for (int h = 0; h < kHalves<D>; ++h) {
      if (key0 - all_see > 1 - BN) mask_scores(s[h], all_see + row + 16 * h - key0, end - key0);
      float rescale[2];
      scores_to_weights(rows[h], s[h], rescale);
      rescale_rows(rows[h], rescale);
    }
    // O += P V
#pragma unroll
    for (int j = 0; j < BN / 16; ++j) {
      unsigned p[kHalves<D>][4];
#pragma unroll
      for (int h = 0; h < kHalves<D>; ++h) pack_weights(p[h], s[h][2 * j], s[h][2 * j + 1]);
#pragma unroll
      for (int c = 0; c < D / 16; ++c) {
        unsigned v[4];
        ldmatrix_x4_trans(v, &from.V[(v_at ^ c * 16) + j * 16 * D]);
#pragma unroll
        for (int h = 0; h < kHalves<D>; ++h) {
          mma_m16n8k16_bf16(rows[h].o[2 * c], p[h], v[0], v[1]);
          mma_m16n8k16_bf16(rows[h].o[2 * c + 1], p[h], v[2], v[3]);
        }
      }
    }
  }
#pragma unroll
  for (int h = 0; h < kHalves<D>; ++h) {
    store_rows<D, kAligned>(rows[h], O + (row + 16 * h) * D, queries - row0 - row - 16 * h);
  }
}

template <int D>
static void launch_mma_d(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                         std::size_t heads, std::size_t queries, std::size_t keys, bool causal) {
  const auto kernel = aligned_for<uint4>(Q, K, V, O) ? attention_bf16_mma<D, true> : attention_bf16_mma<D, false>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  const auto grid = static_cast<unsigned>(heads * tiles_m);
  constexpr int bytes = 2 * sizeof(Stage<D>);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads<D>, bytes>>>(Q, K, V, O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

static void launch_mma(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                       std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_mma_d<64> : launch_mma_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

LADDER_STEP(AttentionBf16, launch_mma, tile_roundings);
