// Step 01 uses one lane of one warp. Idea: a block of 256 threads, and a piece of the array for each, as one would cut
// it for the cores of a CPU: the first thread the first 256th, the next one the next. The host adds up 256 partial
// sums. What is bad here on purpose: in each step of the loop the lanes of a warp touch 32 places far apart, 32
// sectors.
// Expect: some tens of times faster than step 01, not 256 times.
// Next question: which elements should neighbouring threads take?
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256;

__global__ void sum_of_squares_one_block(const int* __restrict__ x, std::int64_t* __restrict__ sums,
                                         std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  std::int64_t sum = 0;
  const std::size_t piece = ceil_div(n, kBlock);  // the last threads may get less, or nothing
  const std::size_t begin = threadIdx.x * piece, end = min(n, begin + piece);
  for (std::size_t i = begin; i < end; ++i) sum += static_cast<std::int64_t>(x[i]) * x[i];
  sums[threadIdx.x] = sum;
  if (threadIdx.x == 0) *clocks = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(kBlock);
  sum_of_squares_one_block<<<1, kBlock>>>(x, sums, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, kBlock, out);
}

LADDER_STEP(SumOfSquares, launch);
