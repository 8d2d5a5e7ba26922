// Step 03 uses one multiprocessor. Idea: many blocks. Blocks cannot wait for each other, so each thread of each leaves
// its sum, and the host adds up 32768 of them.
// Expect: the kernel is some hundred times shorter. The whole is not: copying 256 KB home takes longer than the kernel.
// Next question: clock64() in two blocks, on two multiprocessors: may one subtract them? (No; see the problem's
// header.)
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256, kBlocks = 128;

__global__ void sum_of_squares_many_blocks(const int* __restrict__ x, std::int64_t* __restrict__ sums,
                                           std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];
  sums[thread] = sum;
  if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(std::size_t{kBlocks} * kBlock);
  sum_of_squares_many_blocks<<<kBlocks, kBlock>>>(x, sums, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, std::size_t{kBlocks} * kBlock, out);
}

LADDER_STEP(SumOfSquares, launch);
