// bug: the copy in shared memory is not set to 0, so it starts from garbage
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong | --n=2097155
// stage: right
#include "../histogram.cuh"

constexpr int kBlock = 256;

__global__ void histogram_copy_not_zeroed(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  __shared__ int copy[kBins];
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += stride) atomicAdd(copy + x[i], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += kBlock) {
    if (copy[b] > 0) atomicAdd(counts + b, copy[b]);
  }
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kBins * sizeof(int)));
  if (n == 0) return;
  const std::size_t blocks = ceil_div(n, kBlock);  // more than fit at once: later ones find earlier ones' counters
  histogram_copy_not_zeroed<<<static_cast<unsigned>(blocks), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
