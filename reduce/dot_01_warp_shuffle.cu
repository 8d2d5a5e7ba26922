// A dot product is a sum with a multiplication in front: everything said of the sum holds. The first answer begins
// where that ladder had learnt the most: a fixed grid, a sum in a register for each thread, shuffles within the warp,
// shared memory for the warps, and a second launch that adds up the blocks' sums.
// Expect: nine tenths of the memory's speed. Two loads per product mean twice the bytes in flight of a scalar sum.
// Next question: what is the arithmetic intensity? (2 FLOP for 8 bytes, a quarter; the sum has the same: 1 for 4.)
#include "block_reduce.cuh"
#include "dot.cuh"

constexpr int kBlock = 256;

__global__ void dot_warp_shuffle(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ sums,
                                 std::size_t n) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  float sum = 0.0f;
  for (std::size_t i = thread; i < n; i += threads) sum += x[i] * y[i];
  sum = block_sum_once<kBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void dot_warp_shuffle_finish(const float* __restrict__ sums, float* __restrict__ out, unsigned blocks) {
  float sum = 0.0f;
  for (unsigned b = threadIdx.x; b < blocks; b += kBlock) sum += sums[b];
  sum = block_sum_once<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(dot_warp_shuffle, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  float* sums = scratch<float>(grid);
  dot_warp_shuffle<<<grid, kBlock>>>(x, y, sums, n);
  CUDA_CHECK(cudaGetLastError());
  dot_warp_shuffle_finish<<<1, kBlock>>>(sums, out, grid);
  CUDA_CHECK(cudaGetLastError());
}

// Per launch: the thread's chain, then 5 + 3 levels of tree.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Dot, launch, height);
