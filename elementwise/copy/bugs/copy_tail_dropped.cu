// bug: only n / 4 float4 are copied; the last n % 4 floats are left out
// caught by: cpu forward | y[0] of 1 was never written
// caught by: gpu | y[0] of 1 was never written
// stage: right
#include "../copy.cuh"

__global__ void copy_without_tail(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n / 4) return;
  if (aligned) {
    reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
  } else {
    for (std::size_t k = 4 * i; k < 4 * i + 4; ++k) y[k] = x[k];
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  copy_without_tail<<<ceil_div(n, 4 * block), block>>>(x, y, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
