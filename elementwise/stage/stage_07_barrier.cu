// Problem:  the stages of a pipeline have a fixed order, and in step 06 every thread has the same role.
// Idea:     a cuda::barrier per stage. A copy given to it counts as a pending arrival: the phase ends when all threads
//           have arrived and all copies have landed.
// Expect:   1.0x step 06, whose pipeline is made of such barriers. On sm_90 one thread's bulk copy may serve all.
// Measured: 1.02x step 06, 0.74 of a copy at 2^28 (H200); 1.01x, 0.83 (H100).
// Next:     a thread can arrive at a barrier without waiting. What is that good for?
#include "stage.cuh"

#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init  // init() sets the barriers

__global__ void stage_barrier(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  __shared__ alignas(16) float tile[2][kTile];
  __shared__ cuda::barrier<cuda::thread_scope_block> filled[2];
  const cg::thread_block block = cg::this_thread_block();
  if (threadIdx.x < 2) init(&filled[threadIdx.x], kBlock);
  __syncthreads();
  const auto count_at = [&](std::size_t first) { return static_cast<int>(n - first < kTile ? n - first : kTile); };
  const auto fetch = [&](int stage, std::size_t first) {
    const int count = count_at(first);
    if (aligned && count == kTile) {
      cuda::memcpy_async(block, tile[stage], x + first, cuda::aligned_size_t<16>(4 * kTile), filled[stage]);
    } else {
      cuda::memcpy_async(block, tile[stage], x + first, sizeof(float) * count, filled[stage]);
    }
  };
  const std::size_t step = std::size_t{gridDim.x} * kTile;
  std::size_t first = std::size_t{blockIdx.x} * kTile;
  fetch(0, first);
  for (int stage = 0; first < n; first += step, stage ^= 1) {
    if (first + step < n) fetch(stage ^ 1, first + step);
    filled[stage].arrive_and_wait();  // the tile has arrived
    const int count = count_at(first);
    for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[stage][count - 1 - k];
    __syncthreads();  // the tile has been read
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  stage_barrier<<<stage_blocks(n), kBlock>>>(x, y, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
