// bug: __powf(v, 3), which -use_fast_math makes of powf, is 2 to the power of 3 log2 v: NaN for every negative v
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../math.cuh"

__global__ void math_fast_power(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  for (int k = 1; k <= kTerms; ++k) {
    float sine, cosine;
    sincosf(0.125f * k * v, &sine, &cosine);
    sum += sine + cosine;
  }
  y[i] = __powf(v, 3.0f) * sum;  // v * v * v
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_fast_power<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Math, launch);
