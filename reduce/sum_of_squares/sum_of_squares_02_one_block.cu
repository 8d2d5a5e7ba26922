// Problem:  step 01 uses one lane of one warp.
// Idea:     256 threads with a contiguous chunk each, as work is split among CPU cores. The host adds 256 partial sums.
// Expect:   20 to 100x step 01, not 256x: the lanes of a warp read 32 chunks, 32 sectors per request.
// Measured: 67x step 01, 0.01 of a read at 2^20 (H200); 69x, 0.01 (H100).
// Next:     which elements should neighbouring threads read?
#include "sum_of_squares.cuh"

constexpr unsigned kBlock = 256;

__global__ void sum_of_squares_one_block(const int* __restrict__ x, std::int64_t* __restrict__ partials,
                                         std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  std::int64_t sum = 0;
  const std::size_t chunk = ceil_div(n, kBlock);  // the last threads may get fewer elements or none
  const std::size_t begin = threadIdx.x * chunk, end = min(n, begin + chunk);
  for (std::size_t i = begin; i < end; ++i) sum += static_cast<std::int64_t>(x[i]) * x[i];
  partials[threadIdx.x] = sum;
  if (threadIdx.x == 0) *clocks = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  std::int64_t* partials = scratch<std::int64_t>(kBlock);
  sum_of_squares_one_block<<<1, kBlock>>>(x, partials, clocks, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(partials, kBlock, out);
}

LADDER_STEP(SumOfSquares, launch);
