// bug: only the first of a thread's four elements is tested against n, so the last float4 runs past the end
// caught by: cpu forward | y was written past its end
// caught by: cpu-asan forward | heap-buffer-overflow
// caught by: cpu-trace | reaches outside the allocation
// caught by: gpu | y was written past its end
// caught by: gpu memcheck | Invalid __global__ | --n=1025
// stage: memory
#include "../copy.cuh"

__global__ void copy_overrun(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i < n) *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i);  // i + 4 <= n is needed
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  copy_overrun<<<ceil_div(n, 4 * block), block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
