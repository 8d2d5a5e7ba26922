// Problem:  step 03 scans the tiles' counts with one warp per expert, 32 tiles per round trip, and builds the bits
//           twice.
// Idea:     look-back over each expert's counts, as in sort 05, ranks an entry within its expert in the kernel that
//           chooses. An expert's offset depends on all tokens: the last tile computes it, and a second kernel adds it.
// Expect:   0.8 to 1.5x step 03 at 262144x256x8: one kernel less, and the bits are built once. But places are written
//           twice, and all 1024 tiles may run at once, so look-backs are long.
// Measured: 0.80x step 03, 0.25 of a read at 262144x256x8 (H200).
// Next:     could one kernel do it all? (Only if all its blocks run at the same time: a cooperative launch.)
#include "../look_back.cuh"
#include "moe_route_03_stage.cu"

// Returns how many tokens of earlier tiles choose the expert whose status word in this tile is *word.
__device__ static unsigned look_back_expert(const LookBackWord* word, unsigned tile) {
  LookBackWord before = 0;
  while (tile-- > 0) {
    LookBackWord found;
    word -= kMostExperts;
    do {
      found = *static_cast<const volatile LookBackWord*>(word);
    } while (found >> kLookBackShift == kNothing);
    before += look_back_value<LookBackWord>(found);
    if (found >> kLookBackShift == kPrefix) break;
  }
  return static_cast<unsigned>(before);
}

// words: a counter of tiles taken, then kMostExperts status words per tile; all 0.
template <int kMost>
__global__ void __launch_bounds__(kTile)
    moe_route_look_back(const float* __restrict__ logits, int* __restrict__ chosen, float* __restrict__ weights,
                        int* __restrict__ offsets, int* __restrict__ places, std::size_t tokens, int experts, int k,
                        LookBackWord* words) {
  __shared__ StagedLogits staged[kWarps];
  __shared__ unsigned chose[kWarps][kMostExperts], before[kMostExperts];
  __shared__ std::uint8_t earlier[kWarps][kMostExperts];  // counts of the tile's earlier warps: at most 224
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, e = threadIdx.x;
  const unsigned tile = take_tile(words);
  const std::size_t first = std::size_t{tile} * kTile + 32 * warp, token = first + lane;
  const BestExperts<kMost> best = staged_best<kMost>(staged[warp], logits, first, tokens, experts);
  k = token < tokens ? k : 0;
  best.store(chosen + token * k, weights + token * k, k);
  set_bits(chose, best.expert, k);

  // publish, look back, publish: one thread per expert
  unsigned count = 0;
  for (int w = 0; w < kWarps; ++w) {
    earlier[w][e] = static_cast<std::uint8_t>(count);
    count += __popc(chose[w][e]);
  }
  before[e] = 0;
  if (e < experts) {
    LookBackWord* const word = words + 1 + std::size_t{tile} * kMostExperts + e;
    publish(word, tile == 0 ? kPrefix : kSum, LookBackWord{count});
    before[e] = look_back_expert(word, tile);
    if (tile > 0) publish(word, kPrefix, LookBackWord{before[e]} + count);
  }
  __syncthreads();

#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i >= k) break;
    const int mine = best.expert[i];
    const unsigned rank = __popc(chose[warp][mine] & ((1u << lane) - 1));
    places[token * k + i] = static_cast<int>(before[mine] + earlier[warp][mine] + rank);
  }
  if (tile + 1 < gridDim.x) return;
  const auto [lower, all] = block_scan<kTile>(before[e] + count);
  if (e < experts) offsets[e] = static_cast<int>(lower);
  if (e == 0) offsets[experts] = static_cast<int>(all);
}

__global__ void moe_route_add_offsets(const int* __restrict__ chosen, const int* __restrict__ offsets,
                                      int* __restrict__ places, unsigned entries) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < entries) places[i] += offsets[chosen[i]];
}

static void launch(const float* logits, int* chosen, float* weights, int* offsets, int* places, std::size_t tokens,
                   int experts, int k) {
  if (tokens == 0) {
    CUDA_CHECK(cudaMemsetAsync(offsets, 0, (experts + 1) * sizeof(int)));
    return;
  }
  const auto tiles = static_cast<unsigned>(ceil_div(tokens, kTile));
  const auto route = k <= 2   ? moe_route_look_back<2>
                     : k <= 4 ? moe_route_look_back<4>
                              : moe_route_look_back<kMostChosen>;
  route<<<tiles, kTile>>>(logits, chosen, weights, offsets, places, tokens, experts, k,
                          look_back_words(std::size_t{tiles} * kMostExperts));
  CUDA_CHECK(cudaGetLastError());
  const auto entries = static_cast<unsigned>(tokens) * k;
  constexpr int block = 256;
  moe_route_add_offsets<<<ceil_div(entries, block), block>>>(chosen, offsets, places, entries);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(MoeRoute, launch);
