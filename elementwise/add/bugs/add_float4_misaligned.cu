// bug: float4 without a test that the pointers are 16-byte aligned; add(a + 1, ...) faults
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../add.cuh"

__global__ void add_unaligned(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                              std::size_t n) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i + 4 <= n) {
    const float4 u = *reinterpret_cast<const float4*>(a + i);
    const float4 v = *reinterpret_cast<const float4*>(b + i);
    *reinterpret_cast<float4*>(c + i) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  } else {
    for (std::size_t k = i; k < n; ++k) c[k] = a[k] + b[k];
  }
}

static void launch(const float* a, const float* b, float* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  add_unaligned<<<ceil_div(n, 4 * block), block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add, launch);
