// The first answer is no parallel program at all: one thread, one loop. It is where the story begins, because it shows
// what a single thread of a GPU is worth: it has no other warp to hide the memory's latency behind.
// Expect: tens of times slower than one core of a CPU.
// Next question: x[i] * x[i] is an int times an int. Why the cast? (The product of two ints is an int, and 46341^2 does
// not fit.)
#include "sum_of_squares.cuh"

__global__ void sum_of_squares_one_thread(const int* __restrict__ x, std::int64_t* __restrict__ out,
                                          std::int64_t* __restrict__ clocks, std::size_t n) {
  const long long start = clock64();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<std::int64_t>(x[i]) * x[i];
  *out = sum;
  *clocks = clock64() - start;
}

static void launch(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n) {
  sum_of_squares_one_thread<<<1, 1>>>(x, out, clocks, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(SumOfSquares, launch);
