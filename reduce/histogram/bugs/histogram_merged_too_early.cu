// bug: no barrier between counting and merging, so bytes counted by slower warps are missing
// caught by: cpu forward | is wrong
// caught by: cpu-trace | is wrong
// caught by: gpu | is wrong
// stage: races and barriers
#include "../histogram.cuh"

constexpr int kBlock = 256;

__global__ void histogram_merged_too_early(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  __shared__ int copy[kBins];
  for (int b = threadIdx.x; b < kBins; b += kBlock) copy[b] = 0;
  __syncthreads();
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride) atomicAdd(copy + x[i], 1);
  for (int b = threadIdx.x; b < kBins; b += kBlock) {
    if (copy[b] > 0) atomicAdd(counts + b, copy[b]);
  }
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof(int)));
  if (n == 0) return;
  const std::size_t blocks = std::min(resident_blocks(histogram_merged_too_early, kBlock), ceil_div(n, kBlock));
  histogram_merged_too_early<<<static_cast<unsigned>(blocks), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
