// Problem:  a sum of products: 2 FLOP for 8 bytes, the same intensity as a sum, so memory bandwidth is the limit.
// Idea:     sum 09 with scalar loads: a fixed grid, shuffles, and a second launch for the partial sums.
// Expect:   0.8 to 0.95x cuBLAS at 2^28: two loads per product, but only 8 bytes in flight per thread.
// Measured: 0.85x cuBLAS at 2^28 (H200); 0.91x (H100).
// Next:     how many bytes must be in flight? (Latency x bandwidth: 0.9 us x 3.35 TB/s / 132 SMs = 23 KB per SM, H100.)
#include "block_reduce.cuh"
#include "dot.cuh"

constexpr int kBlock = 256;

__global__ void dot_warp_shuffle(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ partials,
                                 std::size_t n) {
  // load: one product at a time in a grid-stride loop
  const std::size_t first = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  float sum = 0.0f;
  for (std::size_t i = first; i < n; i += stride) sum += x[i] * y[i];

  // reduce within the block, store
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// combine: one block adds the blocks' partial sums
__global__ void dot_warp_shuffle_finish(const float* __restrict__ partials, float* __restrict__ out, unsigned blocks) {
  float sum = 0.0f;
  for (unsigned b = threadIdx.x; b < blocks; b += kBlock) sum += partials[b];
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(dot_warp_shuffle, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  float* partials = scratch<float>(grid);
  dot_warp_shuffle<<<grid, kBlock>>>(x, y, partials, n);
  CUDA_CHECK(cudaGetLastError());
  dot_warp_shuffle_finish<<<1, kBlock>>>(partials, out, grid);
  CUDA_CHECK(cudaGetLastError());
}

// Per launch: the chain of a thread, then 5 + 3 levels of tree.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Dot, launch, height);
