// bug: float4 loads after testing only the alignment of x, not of y
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../dot.cuh"
#include "block_reduce.cuh"

constexpr int kBlock = 256;

__global__ void dot_one_pointer_tested(const float* __restrict__ x, const float* __restrict__ y,
                                       float* __restrict__ out, std::size_t n, bool aligned) {
  const std::size_t n4 = aligned ? n / 4 : 0;
  float sum = 0.0f;
  for (std::size_t i = threadIdx.x; i < n4; i += kBlock) {
    const float4 u = reinterpret_cast<const float4*>(x)[i], v = reinterpret_cast<const float4*>(y)[i];
    sum += (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w);
  }
  for (std::size_t i = 4 * n4 + threadIdx.x; i < n; i += kBlock) sum += x[i] * y[i];
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  dot_one_pointer_tested<<<1, kBlock>>>(x, y, out, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Dot, launch, [](std::size_t n) { return n; });
