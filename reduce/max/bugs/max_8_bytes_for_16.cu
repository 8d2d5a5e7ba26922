// bug: float4 loads from a pointer that is only 8-byte aligned, as float2 would need
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../max_key.cuh"

constexpr int kBlock = 256;

__global__ void max_8_bytes_for_16(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool aligned) {
  const std::size_t n4 = aligned ? n / 4 : 0;
  int key = kMinusInfinity;
  for (std::size_t i = threadIdx.x; i < n4; i += kBlock) key = max(key, key_of(reinterpret_cast<const float4*>(x)[i]));
  for (std::size_t i = 4 * n4 + threadIdx.x; i < n; i += kBlock) key = max(key, key_of(x[i]));
  key = block_max_to_thread_0<kBlock>(key);
  if (threadIdx.x == 0) *out = value_of(key);
}

static void launch(const float* x, float* out, std::size_t n) {
  max_8_bytes_for_16<<<1, kBlock>>>(x, out, n, aligned_for<float2>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
