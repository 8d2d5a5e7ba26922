// Step 05 adds with one thread. Idea: a tree. Neighbours add in pairs, then pairs of pairs: 8 rounds instead of 256
// additions. The threads that work in a round are those whose low bits, masked, are 0: 0, 2, 4, ..., then 0, 4, 8, ...
// Expect: the kernel gets shorter by what step 05 added.
// Next question: what does a warp do in round 3? (Every eighth lane adds, and all warps are still there.)
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256, kBlocks = 128;

__global__ void sum_of_squares_tree_by_mask(const int* __restrict__ x, std::int64_t* __restrict__ sums,
                                            std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const unsigned tid = threadIdx.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];
  __shared__ std::int64_t tile[kBlock];
  tile[tid] = sum;
  __syncthreads();
  for (unsigned offset = 1, mask = 1; offset < kBlock; offset *= 2, mask = 2 * mask + 1) {
    if ((tid & mask) == 0) tile[tid] += tile[tid + offset];
    __syncthreads();  // outside the if: all threads of the block must reach it
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
  if (tid == 0) clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(kBlocks);
  sum_of_squares_tree_by_mask<<<kBlocks, kBlock>>>(x, sums, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, kBlocks, out);
}

LADDER_STEP(SumOfSquares, launch);
