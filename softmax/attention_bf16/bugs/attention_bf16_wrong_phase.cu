// bug: waits for the parity of the tile index instead of that of the pass through the stages
// caught by: gpu | FAIL
// stage: races and barriers
// needs: sm_90a
#include "../attention_bf16.cuh"
#include "../head_tiles.cuh"

constexpr int BM = 64, BN = 128, kStages = 2;
template <int D>
struct Shared {
  Boxes<BM, D> Q;
  Boxes<BN, D> K[kStages], V[kStages];
  Barrier full_q, full_k[kStages], full_v[kStages];
};

// One warpgroup; its first thread loads the next tile.
template <int D>
__global__ void __launch_bounds__(128, 1)
    attention_bf16_wrong_phase(const __grid_constant__ CUtensorMap Q, const __grid_constant__ CUtensorMap K,
                               const __grid_constant__ CUtensorMap V, __nv_bfloat16* __restrict__ O, unsigned tiles_m,
                               long long queries, long long keys, bool causal) {
  extern __shared__ unsigned char memory[];
  Shared<D>& shared = swizzle_aligned<Shared<D>>(memory);
  const int tid = threadIdx.x, row = tid / 32 * 16 + tid % 32 / 4;
  const std::size_t head = blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x % tiles_m) * BM;
  const long long ahead = causal ? keys - queries : keys;
  const int all_see = last_key(row0, keys, ahead), end = last_key(row0 + BM - 1, keys, ahead) + 1;
  const int tiles = end > 0 ? (end - 1) / BN + 1 : 0;
  const auto load = [&](int tile) {
    const int stage = tile % kStages;
    load_boxes(shared.K[stage], K, tile * BN, head, &shared.full_k[stage]);
    load_boxes(shared.V[stage], V, tile * BN, head, &shared.full_v[stage]);
  };
  if (tid == 0) {
    mbarrier_init(&shared.full_q, 1);
    for (Barrier& barrier : shared.full_k) mbarrier_init(&barrier, 1);
    for (Barrier& barrier : shared.full_v) mbarrier_init(&barrier, 1);
    mbarrier_init_fence();
  }
  __syncthreads();
  Rows<D> rows;
  float s[BN / 8][4], rescale[2];
  unsigned p[BN / 16][4];
  if (tiles > 0) {
    if (tid == 0) {
      load_boxes(shared.Q, Q, row0, head, &shared.full_q);
      load(0);
    }
    mbarrier_wait(&shared.full_q, 0);
  }
  for (int tile = 0; tile < tiles; ++tile) {
    if (tid == 0 && tile + 1 < tiles) load(tile + 1);
    mbarrier_wait(&shared.full_k[tile % kStages], tile % 2);  // tile / kStages % 2
    multiply_scores<D>(s, shared.Q, shared.K[tile % kStages]);
    wgmma_wait<0>(wgmma_list(s));
    mask_scores(s, all_see + row - tile * BN, end - tile * BN);
    scores_to_weights(rows, s, rescale);
    rescale_rows(rows, rescale);
#pragma unroll
    for (int j = 0; j < BN / 16; ++j) pack_weights(p[j], s[2 * j], s[2 * j + 1]);
    mbarrier_wait(&shared.full_v[tile % kStages], tile % 2);
    multiply_values<D>(rows.o, p, shared.V[tile % kStages]);
    wgmma_wait<0>(wgmma_list(rows.o));
    __syncthreads();
  }
  store_rows<D, false>(rows, O + (head * queries + row0 + row) * D, queries - row0 - row);
}

template <int D>
static void launch_d(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                     std::size_t heads, std::size_t queries, std::size_t keys, bool causal) {
  std::size_t ld = D;
  Q = rows_for_tma<struct AlignedQ>(Q, heads * queries, D, ld);
  K = rows_for_tma<struct AlignedK>(K, heads * keys, D, ld);
  V = rows_for_tma<struct AlignedV>(V, heads * keys, D, ld);
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  constexpr int bytes = sizeof(Shared<D>) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(attention_bf16_wrong_phase<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  attention_bf16_wrong_phase<D><<<static_cast<unsigned>(heads * tiles_m), 128, bytes>>>(
      map_of_heads(Q, heads, queries, D, BM), map_of_heads(K, heads, keys, D, BN), map_of_heads(V, heads, keys, D, BN),
      O, tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                   std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  if (keys == 0) {
    CUDA_CHECK(cudaMemsetAsync(O, 0, heads * queries * d * sizeof *O));
    return;
  }
  (d == 64 ? launch_d<64> : launch_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

LADDER_STEP(AttentionBf16, launch, tile_roundings);
