// bug: two 16-bit counters share a word; after 65535 equal bytes in a block one overflows into the other
// caught by: cpu forward | one value data
// caught by: gpu | one value data
// stage: right
#include "../histogram.cuh"

constexpr int kBlock = 256;
constexpr std::size_t kPerBlock = 1 << 18;

__global__ void histogram_counters_of_16_bits(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  __shared__ unsigned copy[kBins / 2];
  for (int b = threadIdx.x; b < kBins / 2; b += kBlock) copy[b] = 0;
  __syncthreads();
  const std::size_t begin = blockIdx.x * kPerBlock;
  const std::size_t end = begin + kPerBlock < n ? begin + kPerBlock : n;
  for (std::size_t i = begin + threadIdx.x; i < end; i += kBlock) atomicAdd(copy + x[i] / 2, 1u << 16 * (x[i] % 2));
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += kBlock) atomicAdd(counts + b, copy[b / 2] >> 16 * (b % 2) & 0xffff);
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof(int)));
  if (n == 0) return;
  histogram_counters_of_16_bits<<<static_cast<unsigned>(ceil_div(n, kPerBlock)), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
