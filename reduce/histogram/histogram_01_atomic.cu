// Problem:  the counter is known only after the byte is read, and many threads may increment the same counter.
// Idea:     one atomic per byte on counters in global memory.
// Expect:   below 1 % of bandwidth: all threads share 256 counters, and L2 performs atomics on the same counter one
//           after another.
// Measured: 0.0019x CUB at 2^28 (H200).
// Next:     where could a block count, so that fewer threads share a counter?
#include "histogram.cuh"

constexpr int kBlock = 256;

__global__ void histogram_atomic(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i < n) atomicAdd(counts + x[i], 1);
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof(int)));
  if (n == 0) return;
  histogram_atomic<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
