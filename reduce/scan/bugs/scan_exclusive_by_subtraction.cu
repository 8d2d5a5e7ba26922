// bug: the exclusive sum is the inclusive sum minus the element, but NaN or infinity minus itself is NaN
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../scan.cuh"

__global__ void scan_exclusive_by_subtraction(const float* __restrict__ x, float* __restrict__ out, std::size_t n,
                                              bool exclusive) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    sum += x[i];
    out[i] = exclusive ? sum - x[i] : sum;
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  scan_exclusive_by_subtraction<<<1, 1>>>(x, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Scan, launch);
