// Problem:  powf computes exp(3 log v) in extended precision, for any exponent, with all special cases.
// Idea:     a power with a small integer exponent is a product: v * v * v.
// Expect:   1.05 to 1.3x step 03 at 2^26: two products replace about 60 instructions; eight sincosf stay.
// Measured: 1.19x step 03, 0.20 of a copy at 2^26 (H200); 1.19x, 0.27 (H100).
// Next:     how exact must the sines be?
#include "math.cuh"

__global__ void math_no_pow(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  for (int k = 1; k <= kTerms; ++k) {
    float sine, cosine;
    sincosf(0.125f * k * v, &sine, &cosine);
    sum += sine + cosine;
  }
  y[i] = v * v * v * sum;
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_no_pow<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Math, launch);
