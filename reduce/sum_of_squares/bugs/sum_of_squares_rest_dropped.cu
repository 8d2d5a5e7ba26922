// bug: each thread takes n / 256 elements, rounded down, so the last n % 256 are in no chunk
// caught by: cpu forward | out[0] of 1 is wrong: got 0
// caught by: gpu | out[0] of 1 is wrong: got 0
// stage: right
#include "../sum_of_squares.cuh"

constexpr unsigned kBlock = 256;

__global__ void sum_of_squares_no_rest(const int* __restrict__ x, std::int64_t* __restrict__ partials, std::size_t n) {
  const std::size_t chunk = n / kBlock;  // must round up; the last threads then get less
  std::int64_t sum = 0;
  for (std::size_t i = threadIdx.x * chunk; i < (threadIdx.x + 1) * chunk; ++i) {
    sum += static_cast<std::int64_t>(x[i]) * x[i];
  }
  partials[threadIdx.x] = sum;
}

static void launch(const int* x, std::int64_t* out, std::int64_t*, std::size_t n) {
  std::int64_t* partials = scratch<std::int64_t>(kBlock);
  sum_of_squares_no_rest<<<1, kBlock>>>(x, partials, n);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(partials, kBlock, out);
}

LADDER_STEP(SumOfSquares, launch);
