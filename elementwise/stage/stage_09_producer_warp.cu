// Problem:  in steps 05 to 08 every thread takes part in the copies and waits for them twice per tile.
// Idea:     a ninth warp only copies, eight only compute. Each of four stages has two barriers, filled and emptied. A
//           thread that only signals arrives and continues; one that needs the result waits.
// Expect:   1.2 to 1.4x step 08: up to four tiles in flight instead of two, and no barrier stops the whole block.
// Measured: 1.23x step 08, 0.92 of a copy at 2^28 (H200); 1.15x, 0.96 (H100).
// Next:     when does a producer warp pay?
#include "stage.cuh"

#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init  // init() sets the barriers

constexpr int kStages = 4, kThreads = kBlock + 32;

__global__ void stage_producer_warp(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  __shared__ alignas(16) float tile[kStages][kTile];
  __shared__ cuda::barrier<cuda::thread_scope_block> filled[kStages], emptied[kStages];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (threadIdx.x < kStages) {
    init(&filled[threadIdx.x], kThreads);
    init(&emptied[threadIdx.x], kThreads);
  }
  __syncthreads();
  const std::size_t step = std::size_t{gridDim.x} * kTile;
  std::size_t first = std::size_t{blockIdx.x} * kTile;
  const auto count_at = [&](std::size_t at) { return static_cast<int>(n - at < kTile ? n - at : kTile); };

  if (threadIdx.x >= kBlock) {  // the producer
    for (int stage = 0; first < n; first += step, stage = (stage + 1) % kStages) {
      const int count = count_at(first);
      emptied[stage].arrive_and_wait();
      if (aligned && count == kTile) {
        cuda::memcpy_async(warp, tile[stage], x + first, cuda::aligned_size_t<16>(4 * kTile), filled[stage]);
      } else {
        cuda::memcpy_async(warp, tile[stage], x + first, sizeof(float) * count, filled[stage]);
      }
      static_cast<void>(filled[stage].arrive());
    }
  } else {  // the consumers
    for (int stage = 0; stage < kStages; ++stage) static_cast<void>(emptied[stage].arrive());
    for (int stage = 0; first < n; first += step, stage = (stage + 1) % kStages) {
      filled[stage].arrive_and_wait();
      const int count = count_at(first);
      for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[stage][count - 1 - k];
      static_cast<void>(emptied[stage].arrive());
    }
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  stage_producer_warp<<<stage_blocks(n), kThreads>>>(x, y, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
