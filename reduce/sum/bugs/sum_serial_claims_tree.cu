// bug: one thread adds all elements in a chain of n - 1 additions, but declares the height of a tree
// caught by: cpu forward | 0.1 everywhere data
// caught by: gpu | 0.1 everywhere data
// stage: right
#include "../sum.cuh"

__global__ void sum_serial(const float* __restrict__ x, float* __restrict__ out, std::size_t n) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < n; ++i) sum += x[i];
  *out = sum;
}

static void launch(const float* x, float* out, std::size_t n) {
  sum_serial<<<1, 1>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

static std::size_t height(std::size_t n) {
  std::size_t levels = 0;
  while (std::size_t{1} << levels < n) ++levels;
  return levels;
}

LADDER_STEP(Sum, launch, height);
