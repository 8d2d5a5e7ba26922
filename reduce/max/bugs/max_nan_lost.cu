// bug: fmaxf returns the operand that is a number, so a NaN in the data is lost
// caught by: cpu forward | want nan
// caught by: gpu | want nan
// stage: right
#include "../max.cuh"

constexpr int kBlock = 256;

__global__ void max_fmaxf(const float* __restrict__ x, float* __restrict__ out, std::size_t n) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  float v = -INFINITY;
  for (std::size_t i = tid; i < n; i += kBlock) v = fmaxf(v, x[i]);  // must be a != a || a > b ? a : b
  tile[tid] = v;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] = fmaxf(tile[tid], tile[tid + stride]);
    __syncthreads();
  }
  if (tid == 0) *out = tile[0];
}

static void launch(const float* x, float* out, std::size_t n) {
  max_fmaxf<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
