// Step 04 sends 32768 sums home. Idea: let the threads of a block talk, through shared memory. Each stores its sum, the
// block waits, and thread 0 adds up all 256: 128 sums go home.
// Expect: the whole gets faster, as the copy shrinks to 1 KB; the kernel gets longer by 256 additions of one thread.
// Next question: what do the other 255 threads do meanwhile?
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256, kBlocks = 128;

__global__ void sum_of_squares_shared_memory(const int* __restrict__ x, std::int64_t* __restrict__ sums,
                                             std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  const unsigned tid = threadIdx.x;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  std::int64_t sum = 0;
  for (std::size_t i = thread; i < n; i += std::size_t{kBlocks} * kBlock) sum += static_cast<std::int64_t>(x[i]) * x[i];
  __shared__ std::int64_t tile[kBlock];
  tile[tid] = sum;
  __syncthreads();
  if (tid == 0) {
    for (unsigned t = 1; t < kBlock; ++t) sum += tile[t];
    sums[blockIdx.x] = sum;
  }
  if (tid == 0) clocks[blockIdx.x] = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(kBlocks);
  sum_of_squares_shared_memory<<<kBlocks, kBlock>>>(x, sums, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, kBlocks, out);
}

LADDER_STEP(SumOfSquares, launch);
