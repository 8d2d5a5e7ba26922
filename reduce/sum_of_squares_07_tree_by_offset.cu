// Step 06 leaves a few lanes of every warp at work. Idea: halve the range instead: thread t adds the element `offset`
// further on, 128, 64, ... 1. The threads that work are neighbours, whole warps drop out, and the lanes' words lie side
// by side.
// Expect: a little shorter; these are rounds of some 90 clocks, in a kernel of thousands.
// Next question: which rounds need a barrier of the whole block? (Those in which more than one warp works.)
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256, kBlocks = 128;

__global__ void sum_of_squares_tree_by_offset(const int* __restrict__ x, std::int64_t* __restrict__ sums,
                                              std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const unsigned tid = threadIdx.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];
  __shared__ std::int64_t tile[kBlock];
  tile[tid] = sum;
  __syncthreads();
  for (unsigned offset = kBlock / 2; offset > 0; offset /= 2) {
    if (tid < offset) tile[tid] += tile[tid + offset];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = tile[0];
  if (tid == 0) clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(kBlocks);
  sum_of_squares_tree_by_offset<<<kBlocks, kBlock>>>(x, sums, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, kBlocks, out);
}

LADDER_STEP(SumOfSquares, launch);
