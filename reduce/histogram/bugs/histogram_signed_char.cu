// bug: char is signed, so bytes from 128 on index in front of the counters
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../histogram.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;

__global__ void histogram_signed_char(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  __shared__ int room[kBins / 2 + kWarps * kBins];
  int* const copies = room + kBins / 2;
  int* const copy = copies + threadIdx.x / 32 * kBins;
  for (int b = threadIdx.x; b < kWarps * kBins; b += kBlock) copies[b] = 0;
  __syncthreads();
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride)
    atomicAdd(copy + static_cast<signed char>(x[i]), 1);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += kBlock) {
    int sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += copies[warp * kBins + b];
    if (sum > 0) atomicAdd(counts + b, sum);
  }
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof(int)));
  if (n == 0) return;
  const std::size_t blocks = std::min(resident_blocks(histogram_signed_char, kBlock), ceil_div(n, kBlock));
  histogram_signed_char<<<static_cast<unsigned>(blocks), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
