// Problem:  the formula is typed as written in mathematics, and the result goes into a float.
// Idea:     none yet. 0.125 is a double, so 0.125 * k * v is a double, and sin and cos are the double functions. pow of
//           a float and an int is computed in double, too.
// Expect:   0.02 to 0.06 of a copy at 2^26 on cards with half as many FP64 lanes as FP32 lanes (H100, H200), and below
//           0.002 on most others, whose FP64 rate is 1/64 of FP32's.
// Measured: 0.05 of a copy at 2^26 (H200); 0.07 (H100).
// Next:     which of these operations have to be double?
#include "math.cuh"

__global__ void math_double(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0;
  for (int k = 1; k <= kTerms; ++k) sum += sin(0.125 * k * v) + cos(0.125 * k * v);
  y[i] = pow(v, 3) * sum;
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_double<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Math, launch);
