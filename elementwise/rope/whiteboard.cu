#include <cuda_runtime.h>

// Say: each pair of a head is a 2-D vector, rotated by position * 10000^(-2 i / d). Ask which pairs: neighbours (the
// paper, GPT-J), or elements i and i + d/2 (GPT-NeoX, Llama). Mixing them up gives fluent nonsense, no crash.
// Say: one thread per pair, so one sincosf for two elements. Both are read before either is written: right in place.
// Say: angles in FP32. A position in BF16 is exact only up to 256.
// Next: all heads of a token share the angles: once per token, into shared memory, rope_03; then float4, rope_04.
__global__ void rope(const float* x, const int* position, float* y, unsigned row, unsigned d, bool halves) {
  const size_t token = blockIdx.x;
  x += token * row;  // Say: 64 bits before the product
  y += token * row;
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned half = d / 2, i = e % half, head = e / half;
    const unsigned first = head * d + (halves ? i : 2 * i), second = first + (halves ? half : 1);
    const float theta = powf(10000.0f, -2.0f * i / d);
    float sine, cosine;
    sincosf(position[token] * theta, &sine, &cosine);
    const float a = x[first], b = x[second];
    y[first] = a * cosine - b * sine;
    y[second] = a * sine + b * cosine;
  }
}

cudaError_t launch(const float* x, const int* position, float* y, size_t tokens, size_t heads, size_t d, bool halves) {
  if (tokens == 0 || heads == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  rope<<<unsigned(tokens), 256>>>(x, position, y, unsigned(heads * d), unsigned(d), halves);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "rope.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Rope, checked<launch>);
