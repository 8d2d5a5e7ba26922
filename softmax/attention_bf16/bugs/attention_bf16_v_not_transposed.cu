// bug: V is loaded without .trans, like K, although the keys, the K dimension of P V, run along its columns
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
// needs: sm_80
#include "bf16_chunks.cuh"
#include "../attention_bf16.cuh"
#include "../attention_bf16_tile.cuh"

constexpr int BM = 16, BN = 16;

// One warp per tile of queries.
template <int D>
__global__ void attention_bf16_v_not_transposed(const __nv_bfloat16* __restrict__ Q,
                                                const __nv_bfloat16* __restrict__ K,
                                                const __nv_bfloat16* __restrict__ V, __nv_bfloat16* __restrict__ O,
                                                unsigned tiles_m, long long queries, long long keys, bool causal) {
  __shared__ __align__(16) __nv_bfloat16 Ks[BN * D], Vs[BN * D];
  const int lane = threadIdx.x, row = lane / 4;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x % tiles_m) * BM;
  const long long ahead = causal ? keys - queries : keys;
  const int all_see = last_key(row0, keys, ahead), end = last_key(row0 + BM - 1, keys, ahead) + 1;
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;
  unsigned q[D / 16][4];
  for (int i = 0; i < D / 4; ++i) {
    const int r = row + i % 2 * 8;
    const __nv_bfloat16* from = Q + r * D + i / 2 * 8 + lane % 4 * 2;
    q[i / 4][i % 4] = row0 + r < queries ? bf16_pair(__bfloat162float(from[0]), __bfloat162float(from[1])) : 0;
  }
  Rows<D> rows;
  for (int key0 = 0; key0 < end; key0 += BN) {
    for (int i = lane; i < BN * D / 8; i += 32) {
      const int r = i / (D / 8), at = swizzled<D>(r, i % (D / 8)), left = key0 + r < end ? 8 : 0;
      const long long from = static_cast<long long>(key0) * D + i * 8;
      reinterpret_cast<uint4&>(Ks[at]) = load_chunk_guarded(K + from, left);
      reinterpret_cast<uint4&>(Vs[at]) = load_chunk_guarded(V + from, left);
    }
    __syncthreads();
    float s[BN / 8][4] = {};
    for (int c = 0; c < D / 16; ++c) {
      unsigned k[4];
      ldmatrix_x4(k, &Ks[swizzled<D>(lane / 16 * 8 + lane % 8, c * 2 + lane / 8 % 2)]);
      mma_m16n8k16_bf16(s[0], q[c], k[0], k[1]);
      mma_m16n8k16_bf16(s[1], q[c], k[2], k[3]);
    }
    mask_scores(s, all_see + row - key0, end - key0);
    float rescale[2];
    scores_to_weights(rows, s, rescale);
    rescale_rows(rows, rescale);
    unsigned p[4];
    pack_weights(p, s[0], s[1]);
    for (int c = 0; c < D / 16; ++c) {
      unsigned v[4];
      // ldmatrix_x4_trans: a lane needs two rows of a column
      ldmatrix_x4(v, &Vs[swizzled<D>(lane % 16, c * 2 + lane / 16)]);
      mma_m16n8k16_bf16(rows.o[2 * c], p, v[0], v[1]);
      mma_m16n8k16_bf16(rows.o[2 * c + 1], p, v[2], v[3]);
    }
    __syncthreads();
  }
  store_rows<D, false>(rows, O + row * D, queries - row0 - row);
}

static void launch(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                   std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  const auto kernel = d == 64 ? attention_bf16_v_not_transposed<64> : attention_bf16_v_not_transposed<128>;
  kernel<<<static_cast<unsigned>(heads * tiles_m), 32>>>(Q, K, V, O, tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

// Like tile_roundings, but for tiles of 16 keys.
static std::size_t roundings(std::size_t keys) { return tile_roundings(keys) + 5 * ceil_div(keys, BN); }

LADDER_STEP(AttentionBf16, launch, roundings);
