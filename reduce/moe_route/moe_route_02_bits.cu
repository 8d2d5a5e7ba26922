// Problem:  in step 01 one block numbers all entries one after another.
// Idea:     count per tile, scan, place. A token chooses an expert or not, so 32 tokens are one word of bits per
//           expert. atomicOr sets the bits in any order; a token's rank is the popc of the bits below its own.
// Expect:   50 to 200x step 01 at 262144x256x8, 0.15 to 0.3 of a read: now the logits are the limit. Lanes read rows 1
//           KB apart, 32 sectors per request.
// Measured: 192x step 01, 0.19 of a read at 262144x256x8 (H200).
// Next:     how could the lanes of a warp read neighbouring logits while each still handles one token?
#include "../block_scan.cuh"
#include "best_experts.cuh"

constexpr int kTile = 256, kWarps = kTile / 32;
static_assert(kTile >= kMostExperts, "a thread per expert");

// Sets bit t of chose[w][e] if token 32 w + t of the tile chooses expert e. All threads must call it, each with its
// token's k experts. It contains two __syncthreads().
template <int kMost>
__device__ void set_bits(unsigned (*chose)[kMostExperts], const int (&mine)[kMost], int k) {
  for (int w = 0; w < kWarps; ++w) chose[w][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    if (i < k) atomicOr(&chose[threadIdx.x / 32][mine[i]], 1u << threadIdx.x % 32);
  }
  __syncthreads();
}

// counts[e * tiles + tile]: the number of tokens in the tile that choose expert e.
template <int kMost>
__global__ void __launch_bounds__(kTile)
    moe_route_bits_choose(const float* __restrict__ logits, int* __restrict__ chosen, float* __restrict__ weights,
                          unsigned* __restrict__ counts, std::size_t tokens, int experts, int k) {
  __shared__ unsigned chose[kWarps][kMostExperts];
  const std::size_t token = std::size_t{blockIdx.x} * kTile + threadIdx.x;
  BestExperts<kMost> best;
  if (token < tokens) {
    for (int e = 0; e < experts; ++e) best.offer(logits[token * experts + e], e);
    best.store(chosen + token * k, weights + token * k, k);
  }
  set_bits(chose, best.expert, token < tokens ? k : 0);
  const int e = threadIdx.x;
  unsigned count = 0;
  for (int w = 0; w < kWarps; ++w) count += __popc(chose[w][e]);
  if (e < experts) counts[std::size_t{blockIdx.x} + std::size_t{gridDim.x} * e] = count;
}

// One warp per expert: replaces each count by the sum of the counts of earlier tiles, and stores the total in
// totals[e].
__global__ void moe_route_bits_scan(unsigned* counts, unsigned* __restrict__ totals, unsigned tiles) {
  unsigned* const row = counts + std::size_t{blockIdx.x} * tiles;
  unsigned before = 0;
  for (unsigned first = 0; first < tiles; first += 32) {
    const unsigned t = first + threadIdx.x, count = t < tiles ? row[t] : 0, sum = warp_scan(count);
    if (t < tiles) row[t] = before + sum - count;
    before += __shfl_sync(0xffffffff, sum, 31);
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// An entry's place: after all entries of lower experts, then earlier tiles, earlier warps, lower lanes.
__global__ void __launch_bounds__(kTile)
    moe_route_bits_place(const int* __restrict__ chosen, int* __restrict__ offsets, int* __restrict__ places,
                         const unsigned* __restrict__ counts, const unsigned* __restrict__ totals, std::size_t tokens,
                         int experts, int k) {
  __shared__ unsigned chose[kWarps][kMostExperts], start[kWarps][kMostExperts];
  const std::size_t token = std::size_t{blockIdx.x} * kTile + threadIdx.x;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, e = threadIdx.x;
  k = token < tokens ? k : 0;
  int mine[kMostChosen];
#pragma unroll
  for (int i = 0; i < kMostChosen; ++i) mine[i] = i < k ? chosen[token * k + i] : 0;
  set_bits(chose, mine, k);
  const auto [lower, all] = block_scan<kTile>(e < experts ? totals[e] : 0u);
  unsigned before = lower + (e < experts ? counts[std::size_t{blockIdx.x} + std::size_t{gridDim.x} * e] : 0u);
  for (int w = 0; w < kWarps; ++w) {
    start[w][e] = before;
    before += __popc(chose[w][e]);
  }
  if (blockIdx.x == 0 && e < experts) offsets[e] = static_cast<int>(lower);
  if (blockIdx.x == 0 && e == 0) offsets[experts] = static_cast<int>(all);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kMostChosen; ++i) {
    if (i >= k) break;
    const unsigned rank = __popc(chose[warp][mine[i]] & ((1u << lane) - 1));
    places[token * k + i] = static_cast<int>(start[warp][mine[i]] + rank);
  }
}

// choose: a kernel that stores the experts and each tile's counts.
template <typename Choose>
static void launch_tiles(Choose choose, const float* logits, int* chosen, float* weights, int* offsets, int* places,
                         std::size_t tokens, int experts, int k) {
  if (tokens == 0) {
    CUDA_CHECK(cudaMemsetAsync(offsets, 0, (experts + 1) * sizeof(int)));
    return;
  }
  const auto tiles = static_cast<unsigned>(ceil_div(tokens, kTile));
  unsigned* totals = scratch<unsigned>(kMostExperts + std::size_t{tiles} * experts);
  unsigned* counts = totals + kMostExperts;
  choose<<<tiles, kTile>>>(logits, chosen, weights, counts, tokens, experts, k);
  CUDA_CHECK(cudaGetLastError());
  moe_route_bits_scan<<<experts, 32>>>(counts, totals, tiles);
  CUDA_CHECK(cudaGetLastError());
  moe_route_bits_place<<<tiles, kTile>>>(chosen, offsets, places, counts, totals, tokens, experts, k);
  CUDA_CHECK(cudaGetLastError());
}

[[maybe_unused]] static void launch_bits(const float* logits, int* chosen, float* weights, int* offsets, int* places,
                                         std::size_t tokens, int experts, int k) {
  const auto choose = k <= 2   ? moe_route_bits_choose<2>
                      : k <= 4 ? moe_route_bits_choose<4>
                               : moe_route_bits_choose<kMostChosen>;
  launch_tiles(choose, logits, chosen, weights, offsets, places, tokens, experts, k);
}

LADDER_STEP(MoeRoute, launch_bits);
