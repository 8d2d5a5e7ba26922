// bug: the bounds test is off by one, so the last element is never added
// caught by: cpu forward | c[0] of 1 was never written
// caught by: gpu | c[0] of 1 was never written
// stage: right
#include "../add.cuh"

__global__ void add_off_by_one(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                               std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n - 1) c[i] = a[i] + b[i];  // i < n
}

static void launch(const float* a, const float* b, float* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  add_off_by_one<<<ceil_div(n, block), block>>>(a, b, c, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Add, launch);
