// bug: each thread takes n / 256 elements, and the n % 256 at the end belong to nobody
// caught by: cpu forward | out[0] of 1 is wrong: got 0
// caught by: gpu | out[0] of 1 is wrong: got 0
#include "../sum_of_squares.cuh"

constexpr unsigned kBlock = 256;

__global__ void sum_of_squares_no_rest(const int* __restrict__ x, std::int64_t* __restrict__ sums, std::size_t n) {
  const std::size_t piece = n / kBlock;  // round up, and let the last threads take less
  std::int64_t sum = 0;
  for (std::size_t i = threadIdx.x * piece; i < (threadIdx.x + 1) * piece; ++i) {
    sum += static_cast<std::int64_t>(x[i]) * x[i];
  }
  sums[threadIdx.x] = sum;
}

static void launch(const int* x, std::int64_t* out, std::int64_t*, std::size_t n) {
  std::int64_t* sums = scratch<std::int64_t>(kBlock);
  sum_of_squares_no_rest<<<1, kBlock>>>(x, sums, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(sums, kBlock, out);
}

LADDER_STEP(SumOfSquares, launch);
