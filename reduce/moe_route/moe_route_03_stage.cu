// Problem:  a load of step 02 touches 32 sectors for 32 logits. L1 must keep them until the lanes read the other seven
//           logits of each sector.
// Idea:     for each of its 32 tokens a warp loads 32 logits of the row at a time, coalesced, into shared memory. Each
//           lane then reads its token's. Rows are 33 floats apart: no bank conflicts. __syncwarp() suffices.
// Expect:   1.5 to 4x step 02 at 262144x256x8, 0.3 to 0.7 of a read: 4 sectors per load. The list's instructions become
//           the limit: a warp runs them if one of its 32 tokens needs them.
// Measured: 1.70x step 02, 0.32 of a read at 262144x256x8 (H200).
// Next:     the entries are written, then read and numbered by another kernel. What does that kernel wait for?
#include "moe_route_02_bits.cu"

constexpr int kWidth = 32;
using StagedLogits = float[32][kWidth + 1];

// Returns the best experts of token first + lane. All 32 lanes must call it.
template <int kMost>
__device__ BestExperts<kMost> staged_best(StagedLogits& staged, const float* __restrict__ logits, std::size_t first,
                                          std::size_t tokens, int experts) {
  BestExperts<kMost> best;
  const int lane = threadIdx.x % 32;
  const int rows = first >= tokens ? 0 : tokens - first < 32 ? static_cast<int>(tokens - first) : 32;
  for (int from = 0; from < experts; from += kWidth) {
    const int columns = min(kWidth, experts - from);
    if (lane < columns) {
#pragma unroll 8
      for (int r = 0; r < rows; ++r) staged[r][lane] = logits[(first + r) * experts + from + lane];
    }
    __syncwarp();
    if (lane < rows) {
      for (int c = 0; c < columns; ++c) best.offer(staged[lane][c], from + c);
    }
    __syncwarp();
  }
  return best;
}

template <int kMost>
__global__ void __launch_bounds__(kTile)
    moe_route_stage(const float* __restrict__ logits, int* __restrict__ chosen, float* __restrict__ weights,
                    unsigned* __restrict__ counts, std::size_t tokens, int experts, int k) {
  __shared__ StagedLogits staged[kWarps];
  __shared__ unsigned chose[kWarps][kMostExperts];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, e = threadIdx.x;
  const std::size_t first = std::size_t{blockIdx.x} * kTile + 32 * warp, token = first + lane;
  const BestExperts<kMost> best = staged_best<kMost>(staged[warp], logits, first, tokens, experts);
  if (token < tokens) best.store(chosen + token * k, weights + token * k, k);
  set_bits(chose, best.expert, token < tokens ? k : 0);
  unsigned count = 0;
  for (int w = 0; w < kWarps; ++w) count += __popc(chose[w][e]);
  if (e < experts) counts[std::size_t{blockIdx.x} + std::size_t{gridDim.x} * e] = count;
}

[[maybe_unused]] static void launch_stage(const float* logits, int* chosen, float* weights, int* offsets, int* places,
                                          std::size_t tokens, int experts, int k) {
  const auto choose = k <= 2 ? moe_route_stage<2> : k <= 4 ? moe_route_stage<4> : moe_route_stage<kMostChosen>;
  launch_tiles(choose, logits, chosen, weights, offsets, places, tokens, experts, k);
}

LADDER_STEP(MoeRoute, launch_stage);
