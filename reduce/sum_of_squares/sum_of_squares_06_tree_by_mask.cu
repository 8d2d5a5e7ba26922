// Problem:  in step 05 one thread adds while 255 wait.
// Idea:     a tree: neighbours add in pairs, then pairs of pairs, in 8 rounds. In round r, threads whose r low bits are
//           0 add.
// Expect:   step 04's clocks plus 8 rounds of 30 to 50: most of the clocks that step 05 added are saved again.
// Measured: 1.01x step 05, 0.23 of a read at 2^20 (H200); 0.99x, 0.23 (H100).
// Why: only 386 of the 1119 clocks that step 05 added are saved (H100): thread 0 now waits at barriers for the slowest
// warp; in step 04 it timed only itself.
// Next:     what does a warp do in round 3? (Every eighth lane adds; the others are predicated off.)
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256, kBlocks = 128;

__global__ void sum_of_squares_tree_by_mask(const int* __restrict__ x, std::int64_t* __restrict__ partials,
                                            std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const unsigned tid = threadIdx.x;

  // load: a grid-stride loop
  const std::size_t thread = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];

  // reduce within the block
  __shared__ std::int64_t tile[kBlock];
  tile[tid] = sum;
  __syncthreads();
  for (unsigned offset = 1, mask = 1; offset < kBlock; offset *= 2, mask = 2 * mask + 1) {
    if ((tid & mask) == 0) tile[tid] += tile[tid + offset];
    __syncthreads();  // outside the if: all threads of the block must reach it
  }

  // store
  if (tid == 0) partials[blockIdx.x] = tile[0];
  if (tid == 0) clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* partials = scratch<std::int64_t>(kBlocks);
  sum_of_squares_tree_by_mask<<<kBlocks, kBlock>>>(x, partials, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(partials, kBlocks, out);
}

LADDER_STEP(SumOfSquares, launch);
