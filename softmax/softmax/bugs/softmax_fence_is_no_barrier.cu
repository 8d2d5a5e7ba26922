// bug: __threadfence() instead of a barrier for the grid: blocks read pairs that others may not have stored yet
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong
// stage: right
#include "../softmax.cuh"
#include "../../online_softmax.cuh"

constexpr int kBlock = 256;

// `pairs` has room for one per block. It is not const __restrict__: other blocks write it while this kernel runs.
__global__ void softmax_fence_is_no_barrier(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                            MaxSum* pairs) {
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  const std::size_t first = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = first; i < n; i += threads) s = merge(s, {x[i], 1.0f});
  s = block_merge(s);
  if (threadIdx.x == 0) pairs[blockIdx.x] = s;

  __threadfence();  // orders memory accesses, but waits for no other thread
  __syncthreads();  // the block's own: block_merge may be called again

  s = {-INFINITY, 0.0f};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge(s);
  for (std::size_t i = first; i < n; i += threads) y[i] = expf(x[i] - s.max) / s.sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(softmax_fence_is_no_barrier, kBlock);
  return static_cast<unsigned>(std::min(ceil_div(n, kBlock), resident));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = grid_size(n);
  MaxSum* pairs = scratch<MaxSum>(grid);
  CUDA_CHECK(cudaMemsetAsync(pairs, 0, grid * sizeof(MaxSum)));
  softmax_fence_is_no_barrier<<<grid, kBlock>>>(x, y, n, pairs);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: 6 per merge in a thread, 20 over the block; both again for the pairs.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u);
  return 5 + 6 * ceil_div(n, grid * kBlock) + 20 + 6 * ceil_div(grid, kBlock) + 20;
}

LADDER_STEP(Softmax, launch, roundings);
