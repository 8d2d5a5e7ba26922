// bug: the float4 loop runs over ceil(n / 4) vectors, so the last one reads up to three floats past the end
// caught by: cpu forward | out[0] of 1 is wrong: got nan
// caught by: cpu-asan forward | heap-buffer-overflow
// caught by: cpu-trace | reaches outside the allocation
// caught by: gpu | out[0] of 1 is wrong: got nan
// caught by: gpu memcheck | Invalid __global__ read | --n=1025
// stage: right
#include "../dot.cuh"

constexpr int kBlock = 256;

__global__ void dot_past_the_end(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out,
                                 std::size_t n, bool aligned) {
  __shared__ float tile[kBlock];
  const int tid = threadIdx.x;
  float sum = 0.0f;
  if (aligned) {
    for (std::size_t i = tid; i < (n + 3) / 4; i += kBlock) {  // must be n / 4, then the rest one by one
      const float4 u = reinterpret_cast<const float4*>(x)[i], v = reinterpret_cast<const float4*>(y)[i];
      sum += (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w);
    }
  } else {
    for (std::size_t i = tid; i < n; i += kBlock) sum += x[i] * y[i];
  }
  tile[tid] = sum;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride) tile[tid] += tile[tid + stride];
    __syncthreads();
  }
  if (tid == 0) *out = tile[0];
}

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  dot_past_the_end<<<1, kBlock>>>(x, y, out, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Dot, launch, [](std::size_t n) { return n; });
