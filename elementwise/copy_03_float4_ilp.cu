// Step 02 has one load in flight per thread, and waits for it before the store. Idea: instruction-level parallelism.
// Each thread loads two float4, a block apart so that every access of a warp stays coalesced, before it stores the
// first.
// Expect: nothing, if 2048 threads x 16 bytes already cover the latency, and they do on an H100 (32 KB per SM, 15 KB
// are needed). It pays off where registers or shared memory leave room for few threads.
// Next question: more bytes in flight did not help; is anything left?
#include "copy.cuh"

constexpr int kBlock = 256;
constexpr int kLoads = 2;  // float4 in flight per thread

__global__ void copy_float4_ilp(const float* __restrict__ x, float* __restrict__ y, std::size_t n, bool aligned) {
  const std::size_t tile = static_cast<std::size_t>(blockIdx.x) * (4 * kLoads * kBlock);
  if (aligned && tile + 4 * kLoads * kBlock <= n) {
    const float4* from = reinterpret_cast<const float4*>(x + tile) + threadIdx.x;
    float4* to = reinterpret_cast<float4*>(y + tile) + threadIdx.x;
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = from[k * kBlock];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) to[k * kBlock] = v[k];
  } else {
    for (std::size_t i = tile + threadIdx.x; i < n && i < tile + 4 * kLoads * kBlock; i += kBlock) y[i] = x[i];
  }
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(n, 4 * kLoads * kBlock));
  copy_float4_ilp<<<grid, kBlock>>>(x, y, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Copy, launch);
