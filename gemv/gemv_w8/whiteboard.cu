#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

// Say: batch 1, so each weight is used once: 2 FLOP per byte. Memory is the limit, and int8 has half of BF16's bytes.
// So dequantize in registers; the dequantized matrix is never stored.
// Say: a warp per row, 16 weights per lane and load: the lanes read 512 neighbouring bytes.
// Say: 16 weights never straddle a group of 128, so the scale multiplies their sum once.
// Next: each warp loads and converts all of x for one row. Four rows per warp share x (gemv_w8_04). Two weights per
// byte: gemv_w4.
__global__ void gemv_w8(const int8_t* __restrict__ W, const float* __restrict__ scales,
                        const __nv_bfloat16* __restrict__ x, float* __restrict__ y, size_t n, size_t k, bool aligned) {
  const int lane = threadIdx.x % 32;
  const size_t row = (size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= n) return;  // the whole warp returns
  const int8_t* w = W + row * k;
  const float* scale = scales + row * ((k + 127) / 128);  // Say: rounded up, since the last group may be short
  float sum = 0;
  for (size_t j = 16 * lane; aligned && j < k; j += 512) {
    const int4 w16 = *(const int4*)(w + j), x16[2] = {*(const int4*)(x + j), *(const int4*)(x + j + 8)};
    const __nv_bfloat16* xs = (const __nv_bfloat16*)x16;
    float part = 0;
    // Say: int8_t has a sign; as an unsigned byte -1 would be 255
    for (int i = 0; i < 16; ++i) part += float(((const int8_t*)&w16)[i]) * __bfloat162float(xs[i]);
    sum += scale[j / 128] * part;
  }
  for (size_t j = lane; !aligned && j < k; j += 32) sum += scale[j / 128] * w[j] * __bfloat162float(x[j]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (lane == 0) y[row] = sum;
}

cudaError_t launch(const int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, size_t n, size_t k) {
  if (n == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  gemv_w8<<<unsigned((n + 7) / 8), 256>>>(W, scales, x, y, n, k,
                                          k % 16 == 0 && (uintptr_t(W) | uintptr_t(x)) % 16 == 0);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "gemv_w8.cuh"
#include "whiteboard.cuh"
LADDER_STEP(GemvW8, checked<launch>);
