// Problem:  in step 01 all threads of the GPU share the counters in L2.
// Idea:     one copy per block in shared memory. Its size is known only at the launch: 16 KB for 4096 bins.
// Expect:   10 to 100x step 01. One 4-byte load per thread and trip is the limit, as in histogram 02.
// Measured: 140x step 01, 0.49 of a read at 2^28 (H200).
// Why: step 01 is slower than expected: 69 ms at 2^28, as histogram 01 for as many atomics (H200).
// Next:     with 256 bins a block's copy takes 1 KB. How could the rest of shared memory be used?
#include "histogram_float.cuh"

constexpr int kBlock = 256;

__global__ void histogram_float_per_block(const float* __restrict__ x, int* counts, std::size_t n, int bins,
                                          float lower, float upper) {
  extern __shared__ int copy[];
  for (int b = threadIdx.x; b < bins; b += kBlock) copy[b] = 0;
  __syncthreads();
  const float scale = static_cast<float>(bins) / (upper - lower);
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride) {
    const int bin = bin_of(x[i], lower, upper, scale, bins);
    if (bin >= 0) atomicAdd(copy + bin, 1);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += kBlock) {
    if (copy[b] > 0) atomicAdd(counts + b, copy[b]);
  }
}

static void launch(const float* x, int* counts, std::size_t n, int bins, float lower, float upper) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, bins * sizeof(int)));
  if (n == 0) return;
  const std::size_t bytes = bins * sizeof(int), most = resident_blocks(histogram_float_per_block, kBlock, bytes);
  const auto blocks = static_cast<unsigned>(std::min(most, ceil_div(n, kBlock)));
  histogram_float_per_block<<<blocks, kBlock, bytes>>>(x, counts, n, bins, lower, upper);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(HistogramFloat, launch);
