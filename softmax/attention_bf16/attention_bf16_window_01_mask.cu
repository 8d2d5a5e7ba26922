// Problem:  in a layer with a sliding window a query sees 128 keys, but attention_bf16 has only a causal mask.
// Idea:     attention_bf16 02, with 16 queries per warp and a mask with two ends. The sink is a key before the first
//           one: the online softmax starts with its logit as maximum and, in one lane of a row's four, a sum of 1.
// Expect:   0.6 to 0.9 of attention_bf16 02's rate, if all earlier keys counted. At 8192x8192x128 only 128 of 4096
//           count on average, so 5 to 9 TFLOP/s.
// Measured: 0.03 of a copy at 8192x8192x128 (H200).
// Next:     which tiles of keys can be skipped?
// needs: sm_80
#include "attention_bf16_window.cuh"
#include "attention_bf16_tile.cuh"
#include "bf16_chunks.cuh"  // swizzled, load_chunk_guarded

constexpr int kThreads = 128, BM = kThreads / 2, BN = 64;  // a warp owns 16 queries

template <int D>
struct Stage {
  __nv_bfloat16 K[BN * D], V[BN * D];
};

// Sets scores to -inf before key `first` and after key `last`; both are 8 higher for the thread's second row.
__device__ static void mask_outside(float (&s)[BN / 8][4], long long first, long long last) {
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    const int j = i / 4, x = i % 4, key = 8 * j + threadIdx.x % 4 * 2 + x % 2 - x / 2 * 8;
    if (key < first || key > last) s[j][x] = -INFINITY;
  }
}

// kAligned: Q, K, V and O are 16-byte aligned. Otherwise their elements are loaded and stored one by one.
template <int D, bool kAligned>
__global__ void __launch_bounds__(kThreads)
    attention_window_mask(const __nv_bfloat16* __restrict__ Q, const __nv_bfloat16* __restrict__ K,
                          const __nv_bfloat16* __restrict__ V, const float* __restrict__ sinks,
                          __nv_bfloat16* __restrict__ O, unsigned tiles_m, long long queries, long long keys,
                          long long window) {
  extern __shared__ uint4 smem[];
  Stage<D>* const stages = reinterpret_cast<Stage<D>*>(smem);
  const int tid = threadIdx.x, lane = tid % 32, row = tid / 32 * 16 + lane / 4;  // and row + 8
  const std::size_t head = blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x % tiles_m) * BM, ahead = keys - queries;
  const int begin = 0, end = last_key(row0 + BM - 1, keys, ahead) + 1;  // the keys of the block's queries
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;

  // Starts copying the next tiles of K and V, from key0 on, in chunks of 8 elements. Past the end they become 0.
  const auto copy = [&](int key0) {
    Stage<D>& to = stages[(key0 - begin) / BN % 2];
#pragma unroll
    for (int i = tid; i < BN * D / 8; i += kThreads) {
      const int at = swizzled<D>(i / (D / 8), i % (D / 8)), left = i / (D / 8) < end - key0 ? 8 : 0;
      const long long from = static_cast<long long>(key0) * D + i * 8;
      if constexpr (kAligned) {
        cp_async_16(&to.K[at], K + from, 2 * left);
        cp_async_16(&to.V[at], V + from, 2 * left);
      } else {
        reinterpret_cast<uint4&>(to.K[at]) = load_chunk_guarded(K + from, left);
        reinterpret_cast<uint4&>(to.V[at]) = load_chunk_guarded(V + from, left);
      }
    }
    cp_async_commit();
  };
  if (end > begin) copy(begin);

  unsigned q[D / 16][4];  // the fragments of A, directly from global memory
#pragma unroll
  for (int i = 0; i < D / 4; ++i) {
    const int r = row + i % 2 * 8;
    const __nv_bfloat16* from = Q + r * D + i / 2 * 8 + lane % 4 * 2;
    const bool inside = row0 + r < queries;
    q[i / 4][i % 4] = inside ? bf16_pair(__bfloat162float(from[0]), __bfloat162float(from[1])) : 0;
  }

  const int k_at = swizzled<D>(lane / 16 * 8 + lane % 8, lane / 8 % 2), v_at = swizzled<D>(lane % 16, lane / 16);
  Rows<D> rows;
  rows.max[0] = rows.max[1] = sinks[head] * 1.44269504f;    // log2(e)
  rows.sum[0] = rows.sum[1] = lane % 4 == 0 ? 1.0f : 0.0f;  // the sink's exp(0), once per row
  for (int key0 = begin; key0 < end; key0 += BN) {
    cp_async_wait<0>();
    __syncthreads();  // this tile has arrived, and all threads have read the previous one
    if (end - key0 > BN) copy(key0 + BN);
    const Stage<D>& from = stages[(key0 - begin) / BN % 2];
    float s[BN / 8][4] = {};
#pragma unroll
    for (int c = 0; c < D / 16; ++c) {
#pragma unroll
      for (int j = 0; j < BN / 16; ++j) {
        unsigned k[4];
        ldmatrix_x4(k, &from.K[(k_at ^ c * 16) + j * 16 * D]);
        mma_m16n8k16_bf16(s[2 * j], q[c], k[0], k[1]);
        mma_m16n8k16_bf16(s[2 * j + 1], q[c], k[2], k[3]);
      }
    }
    const long long last = row0 + row + ahead - key0;  // of the thread's first row, relative to the tile
    mask_outside(s, last - window + 1, last);
    float rescale[2];
    scores_to_weights(rows, s, rescale);
    rescale_rows(rows, rescale);
#pragma unroll
    for (int j = 0; j < BN / 16; ++j) {
      unsigned p[4];
      pack_weights(p, s[2 * j], s[2 * j + 1]);
#pragma unroll
      for (int c = 0; c < D / 16; ++c) {
        unsigned v[4];
        ldmatrix_x4_trans(v, &from.V[(v_at ^ c * 16) + j * 16 * D]);
        mma_m16n8k16_bf16(rows.o[2 * c], p, v[0], v[1]);
        mma_m16n8k16_bf16(rows.o[2 * c + 1], p, v[2], v[3]);
      }
    }
  }
  store_rows<D, kAligned>(rows, O + row * D, queries - row0 - row);
}

template <int D>
static void launch_d(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, const float* sinks,
                     __nv_bfloat16* O, std::size_t heads, std::size_t queries, std::size_t keys, std::size_t window) {
  const auto kernel = aligned_for<uint4>(Q, K, V, O) ? attention_window_mask<D, true> : attention_window_mask<D, false>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  constexpr int bytes = 2 * sizeof(Stage<D>);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<static_cast<unsigned>(heads * tiles_m), kThreads, bytes>>>(Q, K, V, sinks, O, tiles_m, queries, keys,
                                                                      window);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, const float* sinks,
                   __nv_bfloat16* O, std::size_t heads, std::size_t queries, std::size_t keys, int d,
                   std::size_t window) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_d<64> : launch_d<128>)(Q, K, V, sinks, O, heads, queries, keys, window);
}

// The sink adds a term to the sum, and one merge: exp, product, two additions.
static std::size_t roundings(std::size_t keys) { return tile_roundings(keys) + 7; }

LADDER_STEP(AttentionBf16Window, launch, roundings);
