// Step 07 stops all 256 threads after each of 8 rounds. Idea: unroll. Two rounds for the block; then warp 0 is alone
// with 64 sums, and the rest is written out, without loop and block barrier. __syncwarp() stands between each round's
// reads and writes: lanes are not in lockstep, and volatile, which the code of that time relied upon, orders nothing
// between them.
// Expect: the last hundred clocks.
// Next question: and today? (Five shuffles for the last 32, see sum_07; the blocks' sums by the last block, see
// sum_10.)
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256, kBlocks = 128;

// One round of the last warp; all its lanes call it. The upper ones add values that nobody uses.
__device__ static void add_and_store(std::int64_t* tile, unsigned tid, unsigned offset, std::int64_t& sum) {
  sum += tile[tid + offset];
  __syncwarp();
  tile[tid] = sum;
  __syncwarp();
}

__global__ void sum_of_squares_unrolled(const int* __restrict__ x, std::int64_t* __restrict__ sums,
                                        std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const unsigned tid = threadIdx.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];
  __shared__ std::int64_t tile[kBlock];
  tile[tid] = sum;
  __syncthreads();
  if (tid < 128) tile[tid] = sum += tile[tid + 128];
  __syncthreads();
  if (tid < 64) tile[tid] = sum += tile[tid + 64];
  __syncthreads();
  if (tid < 32) {
    add_and_store(tile, tid, 32, sum);
    add_and_store(tile, tid, 16, sum);
    add_and_store(tile, tid, 8, sum);
    add_and_store(tile, tid, 4, sum);
    add_and_store(tile, tid, 2, sum);
    sum += tile[tid + 1];
  }
  if (tid == 0) sums[blockIdx.x] = sum;
  if (tid == 0) clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(kBlocks);
  sum_of_squares_unrolled<<<kBlocks, kBlock>>>(x, sums, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, kBlocks, out);
}

LADDER_STEP(SumOfSquares, launch);
