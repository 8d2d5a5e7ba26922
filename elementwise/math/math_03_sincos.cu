// Problem:  sinf and cosf each bring the angle to within pi / 4 of a multiple of pi / 2 before they compute.
// Idea:     sincosf gives both, with one range reduction.
// Expect:   1.1 to 1.6x step 02 at 2^26. A compiler that inlines both may have merged them already.
// Measured: 1.29x step 02, 0.17 of a copy at 2^26 (H200); 1.28x, 0.23 (H100).
// Next:     what does powf do for an exponent of 3?
#include "math.cuh"

__global__ void math_sincos(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  for (int k = 1; k <= kTerms; ++k) {
    float sine, cosine;
    sincosf(0.125f * k * v, &sine, &cosine);
    sum += sine + cosine;
  }
  y[i] = powf(v, 3.0f) * sum;
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_sincos<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Math, launch);
