#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

// Say: 6 bytes per element, so memory bandwidth is the limit. Fused, because silu(a) alone would be written and read
// again. FP32 inside, one rounding at the end.
// Say: a / (1 + exp(-a)): for a = -100 exp overflows and the quotient is -0, which is right. a * exp(a) / (1 + exp(a))
// would be infinity / infinity at a = 100.
__device__ float gated(float a, float b) { return a / (1.0f + expf(-a)) * b; }

// Next: gate and up come from one matrix product, whose epilogue could do this; then 2 bytes per element are left.
__global__ void swiglu(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                       __nv_bfloat16* __restrict__ y, size_t n, bool aligned) {
  const size_t i = 8 * (size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (aligned && i + 8 <= n) {  // Say: eight BF16 are 16 bytes, one access
    uint4 u = *reinterpret_cast<const uint4*>(a + i), v = *reinterpret_cast<const uint4*>(b + i);
    // Say: memcpy is what C++ defines, and is free; with casts it is shorter
    auto *p = reinterpret_cast<__nv_bfloat162*>(&u), *q = reinterpret_cast<__nv_bfloat162*>(&v);
    for (int k = 0; k < 4; ++k) {
      const float2 gate = __bfloat1622float2(p[k]), up = __bfloat1622float2(q[k]);
      p[k] = __floats2bfloat162_rn(gated(gate.x, up.x), gated(gate.y, up.y));
    }
    *reinterpret_cast<uint4*>(y + i) = u;
  } else {  // the tail, or all of a misaligned array
    for (size_t k = i; k < n && k < i + 8; ++k) {
      y[k] = __float2bfloat16(gated(__bfloat162float(a[k]), __bfloat162float(b[k])));
    }
  }
}

cudaError_t launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* y, size_t n) {
  if (n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const bool aligned = (uintptr_t(a) | uintptr_t(b) | uintptr_t(y)) % 16 == 0;
  const unsigned block = 256, grid = (n + 8 * block - 1) / (8 * block);
  swiglu<<<grid, block>>>(a, b, y, n, aligned);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "swiglu.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Swiglu, checked<launch>);
