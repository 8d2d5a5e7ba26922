// bug: the last argument of a copy says how many bytes to keep; it is how many to fill with zeros
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../stage.cuh"

#include <cuda_pipeline.h>

constexpr int kWidth = 4;  // floats per copy

template <bool kWide>
__global__ void stage_zfill_kept(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  __shared__ alignas(16) float tile[kTile];
  constexpr int width = kWide ? kWidth : 1;
  for (std::size_t first = std::size_t{blockIdx.x} * kTile; first < n; first += std::size_t{gridDim.x} * kTile) {
    const int count = static_cast<int>(n - first < kTile ? n - first : kTile);
    for (int k = width * threadIdx.x; k < count; k += width * kBlock) {
      const int kept = k + width > count ? count - k : width;
      __pipeline_memcpy_async(&tile[k], &x[first + k], 4 * width, kept < width ? 4 * kept : 0);  // 4 * (width - kept)
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();  // the tile has arrived
    for (int k = threadIdx.x; k < count; k += kBlock) y[first + k] = tile[count - 1 - k];
    __syncthreads();  // the tile has been read
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const auto kernel = aligned_for<float4>(x) ? stage_zfill_kept<true> : stage_zfill_kept<false>;
  kernel<<<stage_blocks(n), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stage, launch);
