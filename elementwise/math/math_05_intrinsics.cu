// Problem:  in step 04 sincosf takes some 40 instructions to be within 2 ulp.
// Idea:     __sincosf: one instruction each in the special function unit. From -pi to pi the absolute error is at most
//           2^-21.19, which is many ulp where the result is near 0; beyond, it grows with the angle.
// Expect:   2 to 4x step 04 at 2^26, 0.4 to 0.6 of a copy: 16 results per element, and the special function units of an
//           SM give 16 per clock: 258 us on an H200 (computed).
// Measured: 2.43x step 04, 0.48 of a copy at 2^26 (H200).
// Next:     what else does -use_fast_math change? (Division, square roots, powf, subnormals, in the whole file.)
#include "math.cuh"

__global__ void math_intrinsics(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  for (int k = 1; k <= kTerms; ++k) {
    float sine, cosine;
    __sincosf(0.125f * k * v, &sine, &cosine);
    sum += sine + cosine;
  }
  y[i] = v * v * v * sum;
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_intrinsics<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Math, launch, Functions::intrinsic);
