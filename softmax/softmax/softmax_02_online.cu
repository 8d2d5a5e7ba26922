// Problem:  step 01 reads x three times.
// Idea:     the online softmax: pairs (max, sum of exp(x - max)) merge in any order. Each block writes one pair; every
//           block of the second kernel merges all of them, so the bits are the same every run.
// Expect:   1.2 to 1.33x step 01 from 2^24 on: 3 accesses per element, not 4. About 1.0x at 2^20: mostly launches.
// Measured: 1.29x step 01, 0.40 of a copy at 2^24 (H200); 1.29x, 0.48 (H100).
// Next:     the second launch is there to wait for all blocks. How else could a block know that they are done?
#include "softmax.cuh"
#include "../online_softmax.cuh"

constexpr int kBlock = 256;

__global__ void softmax_pairs(const float* __restrict__ x, std::size_t n, MaxSum* __restrict__ pairs) {
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += threads) {
    s = merge(s, {x[i], 1.0f});
  }
  s = block_merge(s);
  if (threadIdx.x == 0) pairs[blockIdx.x] = s;
}

__global__ void softmax_merge_and_scale(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                        const MaxSum* __restrict__ pairs) {
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge(s);
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += threads) {
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

// Numerator: exp, division. Denominator: 6 per merge in a thread, 20 over the block; both again for the blocks' pairs.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u);
  return 5 + 6 * ceil_div(n, grid * kBlock) + 20 + 6 * ceil_div(grid, kBlock) + 20;
}

LADDER_STEP(Softmax, launch, roundings);
