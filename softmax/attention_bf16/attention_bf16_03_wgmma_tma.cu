// Problem:  step 02's warps load all fragments of K and V from shared memory; a warp's exps and MMAs don't overlap.
// Idea:     FlashAttention-3: a producer warp issues TMA loads; two or three consumer warpgroups run wgmma on 64 query
//           rows each. Ping-pong scheduling and intra-warpgroup pipelining overlap softmax and GEMMs.
// Expect:   350 to 450 TFLOP/s at d = 64, where exps take as long as MMAs; 480 to 600 at 128. 0.8 to 1.0x cuDNN.
// Measured: 1.48x step 02, 434 TFLOP/s at 64x2048x2048 (H200).
// Next:     a decoder has one query per head. How full are these tiles then?
// needs: sm_90a
#include "attention_bf16.cuh"
#include "head_tiles.cuh"

// A block's shared memory. kConsumers warpgroups handle 64 query rows each; one more warpgroup is the producer.
template <int D>
struct WgmmaShared {
  static constexpr int kConsumers = D == 64 ? 3 : 2, BM = 64 * kConsumers, BN = 128, kStages = 2;
  Boxes<64, D> Q[kConsumers];
  Boxes<BN, D> K[kStages], V[kStages];
  Barrier full_q[kConsumers], empty_q[kConsumers];
  Barrier full_k[kStages], empty_k[kStages], full_v[kStages], empty_v[kStages];
};

// kPairs: O is 4-byte aligned.
template <int D, bool kPairs>
__global__ void __launch_bounds__(128 * (WgmmaShared<D>::kConsumers + 1), 1)
    attention_bf16_wgmma_tma(const __grid_constant__ CUtensorMap Q, const __grid_constant__ CUtensorMap K,
                             const __grid_constant__ CUtensorMap V, __nv_bfloat16* __restrict__ O, unsigned heads,
                             unsigned tiles_m, long long queries, long long keys, bool causal) {
  using Shared = WgmmaShared<D>;
  constexpr int kConsumers = Shared::kConsumers, BM = Shared::BM, BN = Shared::BN, kStages = Shared::kStages;
  extern __shared__ unsigned char memory[];
  Shared& shared = swizzle_aligned<Shared>(memory);
  const int tid = threadIdx.x;
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  // One tile of BM queries per round. Causal: the longest tiles come first, and every other round runs in reverse.
  const auto for_each_tile = [&](const auto& work) {
    const unsigned tiles = heads * tiles_m;
    for (unsigned first = 0, round = 0; first < tiles; first += gridDim.x, ++round) {
      const unsigned tile = first + (causal && round % 2 ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
      if (tile >= tiles) continue;
      const unsigned tile_m = causal ? tiles_m - 1 - tile / heads : tile % tiles_m, row0 = tile_m * BM;
      work(causal ? tile % heads : tile / tiles_m, row0, last_key(row0 + BM - 1, keys, ahead) + 1);
    }
  };
  if (tid == 0) {
    for (Barrier& full : shared.full_q) mbarrier_init(&full, 1);
    for (Barrier& empty : shared.empty_q) mbarrier_init(&empty, 4);  // the warps that read it
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&shared.full_k[stage], 1);
      mbarrier_init(&shared.full_v[stage], 1);
      mbarrier_init(&shared.empty_k[stage], 4 * kConsumers);
      mbarrier_init(&shared.empty_v[stage], 4 * kConsumers);
    }
    mbarrier_init_fence();
  }
  __syncthreads();

  int n = 0, q_tiles = 0;  // tiles of keys so far, and tiles of queries that have at least one key
  if (tid < 128) {
    registers_decrease<D == 64 ? 32 : 40>();
    if (tid > 0) return;
    for_each_tile([&](unsigned head, unsigned row0, int end) {
      for (int key0 = 0; key0 < end; key0 += BN, ++n) {
        const int stage = n % kStages, phase = n / kStages % 2;
        mbarrier_wait(&shared.empty_k[stage], phase ^ 1);  // does not wait in the first pass through the stages
        load_boxes(shared.K[stage], K, key0, head, &shared.full_k[stage]);
        for (int i = 0; i < kConsumers && key0 == 0; ++i) {
          mbarrier_wait(&shared.empty_q[i], q_tiles % 2 ^ 1);
          load_boxes(shared.Q[i], Q, row0 + 64 * i, head, &shared.full_q[i]);
        }
        mbarrier_wait(&shared.empty_v[stage], phase ^ 1);
        load_boxes(shared.V[stage], V, key0, head, &shared.full_v[stage]);
      }
      if (end > 0) ++q_tiles;
    });
    return;
  }
  registers_increase<D == 64 ? 160 : 232>();
  const int group = __shfl_sync(0xffffffff, tid / 128 - 1, 0);  // tells the compiler that it is uniform in a warp
  const int first = group * 64, row = first + tid % 128 / 32 * 16 + tid % 32 / 4;  // and row + 8
  const auto release = [&](Barrier& empty) {
    if (tid % 32 == 0) mbarrier_arrive(&empty);
  };
  // Ping-pong scheduling: before its GEMMs warpgroup i waits at named barrier 1 + i for warpgroup i - 1 to arrive.
  const auto pass_on = [&] { named_barrier_arrive<256>(1 + (group + 1) % kConsumers); };
  if (group == kConsumers - 1) pass_on();
  for_each_tile([&](std::size_t head, unsigned row0, int end) {
    const int all_see = last_key(row0 + first, keys, ahead);  // this warpgroup's queries attend to the keys up to here
    Rows<D> rows;
    float s[BN / 8][4], rescale[2];
    unsigned p[BN / 16][4];
    const auto multiply_k = [&] {
      mbarrier_wait(&shared.full_k[n % kStages], n / kStages % 2);
      named_barrier<256>(1 + group);
      multiply_scores<D>(s, shared.Q[group], shared.K[n % kStages]);
    };
    const auto multiply_v = [&](int n) {
      mbarrier_wait(&shared.full_v[n % kStages], n / kStages % 2);
      multiply_values<D>(rows.o, p, shared.V[n % kStages]);
    };
    const auto softmax = [&](int key0) {  // call when the scores have arrived
      release(shared.empty_k[n % kStages]);
      if (key0 - all_see > 1 - BN) mask_scores(s, all_see + row - first - key0, end - key0);
      scores_to_weights(rows, s, rescale);
    };
    const auto pack = [&] {
#pragma unroll
      for (int j = 0; j < BN / 16; ++j) pack_weights(p[j], s[2 * j], s[2 * j + 1]);
    };

    if (end > 0) {
      mbarrier_wait(&shared.full_q[group], q_tiles % 2);
      multiply_k();
      pass_on();
      wgmma_wait<0>(wgmma_list(s));
      softmax(0);
      pack();
      ++n;
      for (int key0 = BN; key0 < end; key0 += BN, ++n) {
        multiply_k();
        multiply_v(n - 1);
        pass_on();
        wgmma_wait<1>(wgmma_list(s));
        softmax(key0);  // intra-warpgroup pipelining: P V is still executing
        // Never true. Without a branch that needs the sum here, ptxas (CUDA 13.0) moves the exps past the wait.
        if (rows.sum[0] + rows.sum[1] < 0) __nanosleep(1);
        wgmma_wait<0>(wgmma_list(rows.o));
        release(shared.empty_v[(n - 1) % kStages]);
        rescale_rows(rows, rescale);
        pack();
      }
      release(shared.empty_q[group]);
      multiply_v(n - 1);
      wgmma_wait<0>(wgmma_list(rows.o));
      release(shared.empty_v[(n - 1) % kStages]);
      ++q_tiles;
    }
    store_rows<D, kPairs>(rows, O + (head * queries + row0 + row) * D, queries - row0 - row);
  });
  // The last arrival is for warpgroup 0. `group == 0` is slower: ptxas assumes divergence (see NOTES.md).
  if (tid < 256) named_barrier<256>(1);
}

template <int D>
static void launch_wgmma_d(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                           std::size_t heads, std::size_t queries, std::size_t keys, bool causal) {
  using Shared = WgmmaShared<D>;
  std::size_t ld = D;  // rows have no gaps
  Q = rows_for_tma<struct AlignedQ>(Q, heads * queries, D, ld);
  K = rows_for_tma<struct AlignedK>(K, heads * keys, D, ld);
  V = rows_for_tma<struct AlignedV>(V, heads * keys, D, ld);
  const auto kernel = aligned_for<unsigned>(O) ? attention_bf16_wgmma_tma<D, true> : attention_bf16_wgmma_tma<D, false>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, Shared::BM));
  const auto blocks = static_cast<unsigned>(std::min(heads * tiles_m, static_cast<std::size_t>(sm_count())));
  constexpr int bytes = sizeof(Shared) + kSwizzleAlignment;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<blocks, 128 * (Shared::kConsumers + 1), bytes>>>(
      map_of_heads(Q, heads, queries, D, 64), map_of_heads(K, heads, keys, D, Shared::BN),
      map_of_heads(V, heads, keys, D, Shared::BN), O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

static void launch_wgmma(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                         std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  if (keys == 0) {  // a tensor map cannot be empty
    CUDA_CHECK(cudaMemsetAsync(O, 0, heads * queries * d * sizeof *O));
    return;
  }
  (d == 64 ? launch_wgmma_d<64> : launch_wgmma_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

LADDER_STEP(AttentionBf16, launch_wgmma, tile_roundings, true);  // TMA needs rows that are 16-byte aligned
