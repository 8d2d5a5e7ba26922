// bug: x is clamped to the range, so elements outside count in the first or last bin, and NaN in some bin
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../histogram_float.cuh"

constexpr int kBlock = 256;

__global__ void histogram_float_outside_clamped(const float* __restrict__ x, int* counts, std::size_t n, int bins,
                                                float lower, float upper) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const float bin = (fminf(fmaxf(i < n ? x[i] : lower, lower), upper) - lower) * (bins / (upper - lower));
  if (i < n) atomicAdd(counts + min(static_cast<int>(bin), bins - 1), 1);
}

static void launch(const float* x, int* counts, std::size_t n, int bins, float lower, float upper) {
  CUDA_CHECK(cudaMemsetAsync(counts, 0, bins * sizeof(int)));
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
  histogram_float_outside_clamped<<<blocks, kBlock>>>(x, counts, n, bins, lower, upper);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(HistogramFloat, launch);
