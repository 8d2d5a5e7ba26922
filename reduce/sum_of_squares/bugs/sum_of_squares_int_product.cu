// bug: the sum has 64 bits, but the product of two ints is truncated to 32 bits before it is added
// caught by: cpu forward | out[0] of 1 is wrong
// caught by: gpu | out[0] of 1 is wrong
// stage: right
#include "../sum_of_squares.cuh"

__global__ void sum_of_squares_32_bits(const int* __restrict__ x, std::int64_t* __restrict__ out, std::size_t n) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned v = static_cast<unsigned>(x[i]);
    sum += static_cast<int>(v * v);  // must be static_cast<std::int64_t>(x[i]) * x[i]
  }
  *out = sum;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  CUDA_CHECK(cudaMemset(clocks, 0, sizeof *clocks));
  sum_of_squares_32_bits<<<1, 1>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SumOfSquares, launch);
