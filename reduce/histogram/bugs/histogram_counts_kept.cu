// bug: the global counters are not set to 0, so a launch adds to the previous launch's counts
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../histogram.cuh"

constexpr int kBlock = 256;

__global__ void histogram_counts_kept(const std::uint8_t* __restrict__ x, int* counts, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i < n) atomicAdd(counts + x[i], 1);
}

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  if (n == 0) return;
  histogram_counts_kept<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(x, counts, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Histogram, launch);
