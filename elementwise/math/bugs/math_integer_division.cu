// bug: the angle is k / 8 * v: a division of integers, 0 for all terms but the last
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../math.cuh"

__global__ void math_divides_integers(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  for (int k = 1; k <= kTerms; ++k) {
    float sine, cosine;
    sincosf(k / 8 * v, &sine, &cosine);  // 0.125f * k * v
    sum += sine + cosine;
  }
  y[i] = v * v * v * sum;
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_divides_integers<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Math, launch);
