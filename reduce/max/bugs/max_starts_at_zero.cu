// bug: idle threads and the result start from 0, so the maximum of negative numbers becomes 0
// caught by: cpu forward | negative data: out[0] of 1 is wrong: got 0
// caught by: gpu | negative data: out[0] of 1 is wrong: got 0
// stage: right
#include "../max.cuh"

constexpr int kBlock = 256;

__global__ void max_from_zero(const float* __restrict__ x, float* out, std::size_t n) {
  __shared__ int warp_max[kBlock / 32];
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;  // must be -infinity, the maximum of nothing
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, offset));
  if (threadIdx.x % 32 == 0) warp_max[threadIdx.x / 32] = __float_as_int(fmaxf(v, 0.0f));
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const int bits : warp_max) atomicMax(reinterpret_cast<int*>(out), bits);
}

__global__ void max_from_zero_start(float* out, std::size_t n) { *out = n == 0 ? -INFINITY : 0.0f; }

static void launch(const float* x, float* out, std::size_t n) {
  max_from_zero_start<<<1, 1>>>(out, n);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  max_from_zero<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
