// Problem:  more loads per thread did not help step 04.
// Idea:     one float4 of each input per thread, in blocks of 768: a block requests 12 KB of neighbouring addresses of
//           each array.
// Expect:   1.00 to 1.01x step 03, from fewer switches between DRAM rows. With 768 threads 2^28 elements fill 331
//           waves; with 1024 the last of 249 is a quarter full.
// Measured: 1.02x step 04, 1.00x Thrust at 2^28 (H200); 1.01x, 1.00x (H100).
// Next:     what is left? (Only fewer bytes: fuse the addition into the kernel before or after it.)
#include "add.cuh"

__global__ void add_large_block(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                std::size_t n, bool aligned) {
  const std::size_t i = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (aligned && i + 4 <= n) {
    const float4 u = *reinterpret_cast<const float4*>(a + i);
    const float4 v = *reinterpret_cast<const float4*>(b + i);
    *reinterpret_cast<float4*>(c + i) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  } else {
    for (std::size_t k = i; k < n && k < i + 4; ++k) c[k] = a[k] + b[k];
  }
}

static void launch(const float* a, const float* b, float* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 768;
  const unsigned grid = ceil_div(n, 4 * block);
  add_large_block<<<grid, block>>>(a, b, c, n, aligned_for<float4>(a, b, c));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add, launch);
