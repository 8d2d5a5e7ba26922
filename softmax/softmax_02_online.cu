// Step 01 reads x three times. Idea: the online softmax (Milakov and Gimelshein, 2018). A pair (max, sum of exp(x -
// max)) stands for what has been seen. Two pairs merge into the larger maximum, and the sum of the sums, each
// multiplied by exp(its old max - the new one). In any order and grouping that gives what one pass over everything
// would, so threads, warps and blocks can each make a pair of their share and merge at the end. The guard: where both
// have seen only -inf, or nothing, -inf - -inf would be NaN; then nothing is subtracted. online.cuh has the pair and
// the rule, and merges over a warp and a block. One pair per block goes to memory, and every block of the second kernel
// merges them all, which is cheaper than one more launch. The order is fixed: the same bits every run, where step 01's
// atomics give others.
// Expect: two reads and a write, two thirds of a copy's speed at best.
// Next question: two launches, because all blocks must be done. Is there another way to know that?
#include "softmax.cuh"
#include "online.cuh"

constexpr int kBlock = 256;

__global__ void softmax_pairs(const float* __restrict__ x, std::size_t n, MaxSum* __restrict__ pairs) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x; i < n; i += threads) {
    s = merge(s, {x[i], 1.0f});
  }
  s = block_merge<kBlock / 32>(s);
  if (threadIdx.x == 0) pairs[blockIdx.x] = s;
}

__global__ void softmax_merge_and_scale(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                        const MaxSum* __restrict__ pairs) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge<kBlock / 32>(s);
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x; i < n; i += threads) {
    y[i] = expf(x[i] - s.max) / s.sum;
  }
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(softmax_pairs, kBlock);
  return static_cast<unsigned>(std::min(ceil_div(n, kBlock), resident));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = grid_size(n);
  MaxSum* pairs = scratch<MaxSum>(grid);
  softmax_pairs<<<grid, kBlock>>>(x, n, pairs);
  CUDA_CHECK(cudaGetLastError());
  softmax_merge_and_scale<<<grid, kBlock>>>(x, y, n, pairs);
  CUDA_CHECK(cudaGetLastError());
}

// exp and division above; below exp, product and addition for each merge: thread, block, blocks' pairs, block again.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u);
  return 5 + 6 * (ceil_div(n, grid * kBlock) + 10 + ceil_div(grid, kBlock) + 10);
}

LADDER_STEP(Softmax, launch, roundings);
