// Problem:  step 09 launches a second kernel only to wait for all blocks of the first.
// Idea:     a cooperative launch: grid.sync() is a barrier for all blocks, then block 0 adds the partial sums.
// Expect:   0.9 to 1.0x step 09: the grid barrier costs one or two microseconds, as the second launch did.
// Measured: 1.00x step 09, 0.98x CUB at 2^28 (H200); 1.00x, 1.00x (H100).
// Next:     must all blocks wait if only one of them has something left to do?
#include "sum.cuh"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 256;

// Returns the sum over the block to thread 0. All threads must call it. A barrier is needed between two calls.
__device__ static float block_sum_to_thread_0(cg::thread_block block, float v) {
  __shared__ float warp_sums[kBlock / 32];
  const auto warp = cg::tiled_partition<32>(block);
  v = cg::reduce(warp, v, cg::plus<float>());
  if (warp.thread_rank() == 0) warp_sums[warp.meta_group_rank()] = v;
  block.sync();
  if (warp.meta_group_rank() != 0) return 0.0f;
  return cg::reduce(warp, warp.thread_rank() < kBlock / 32 ? warp_sums[warp.thread_rank()] : 0.0f, cg::plus<float>());
}

__global__ void sum_cooperative_groups(const float* x, float* partials, float* out, std::size_t n, bool aligned) {
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();

  // load: float4 in a grid-stride loop, then the tail, or all of x if it is not aligned
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0;
  float sum = 0.0f;
  for (std::size_t i = grid.thread_rank(); i < n4; i += grid.size()) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t i = 4 * n4 + grid.thread_rank(); i < n; i += grid.size()) sum += x[i];

  // reduce within the block
  sum = block_sum_to_thread_0(block, sum);
  if (block.thread_rank() == 0) partials[blockIdx.x] = sum;
  grid.sync();  // all partial sums are stored, and visible to the whole grid

  // combine: block 0 adds the partial sums
  if (blockIdx.x == 0) {
    sum = 0.0f;
    for (unsigned b = block.thread_rank(); b < gridDim.x; b += kBlock) sum += partials[b];
    sum = block_sum_to_thread_0(block, sum);
    if (block.thread_rank() == 0) *out = sum;
  }
}

// A cooperative launch fails if not all blocks can be resident at once: the grid barrier would never open.
static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(sum_cooperative_groups, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  float* partials = scratch<float>(grid);
  bool aligned = aligned_for<float4>(x);
  void* arguments[] = {&x, &partials, &out, &n, &aligned};
  CUDA_CHECK(cudaLaunchCooperativeKernel(sum_cooperative_groups, dim3(grid), dim3(kBlock), arguments, 0, nullptr));
}

// The chain of a thread, longest if x is not aligned, and 5 + 3 levels of tree; the same again for the partial sums.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Sum, launch, height);
