// bug: 32 threads are producers, and one of them acquires, copies and commits: a tile counts as arrived when all have
// caught by: cpu | deadlock
// caught by: gpu | did not end
// stage: launches and ends
#include "../stage.cuh"

#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init  // make_pipeline() sets the state

constexpr int kStages = 4, kThreads = kBlock + 32;

__global__ void stage_one_lane(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  __shared__ alignas(16) float tile[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const cg::thread_block block = cg::this_thread_block();
  const bool produces = threadIdx.x >= kBlock;  // the ninth warp
  auto pipeline =
      cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);

  const std::size_t step = std::size_t{gridDim.x} * kTile;
  int stage = 0;
  for (std::size_t first = std::size_t{blockIdx.x} * kTile; first < n; first += step, stage = (stage + 1) % kStages) {
    const int count = static_cast<int>(n - first < kTile ? n - first : kTile);
    if (threadIdx.x == kBlock) {
      pipeline.producer_acquire();  // the stage is free
      if (aligned && count == kTile) {
        cuda::memcpy_async(tile[stage], x + first, cuda::aligned_size_t<16>(4 * kTile), pipeline);
      } else {
        cuda::memcpy_async(tile[stage], x + first, sizeof(float) * count, pipeline);
      }
      pipeline.producer_commit();
    } else if (!produces) {
      pipeline.consumer_wait();  // the tile has arrived
      for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[stage][count - 1 - k];
      pipeline.consumer_release();  // the tile has been read
    }
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  stage_one_lane<<<stage_blocks(n), kThreads>>>(x, y, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
