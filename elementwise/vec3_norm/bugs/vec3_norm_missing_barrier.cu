// bug: no barrier between the tile's stores and its loads, so a thread reads vectors that are not stored yet
// caught by: cpu forward | out[0] of 1 is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --n=1025
// stage: right
#include "../vec3_norm.cuh"

constexpr int kBlock = 256;

__global__ void vec3_norm_no_barrier(const float* __restrict__ packed, float* __restrict__ out, std::size_t n) {
  __shared__ float tile[3 * kBlock];
  const std::size_t first = std::size_t{blockIdx.x} * kBlock;
  const int tid = threadIdx.x;
  for (int k = tid; k < 3 * kBlock; k += kBlock) {
    if (3 * first + k < 3 * n) tile[k] = packed[3 * first + k];
  }
  // __syncthreads() is needed here
  const float x = tile[3 * tid], y = tile[3 * tid + 1], z = tile[3 * tid + 2];
  if (first + tid < n) out[first + tid] = sqrtf(x * x + y * y + z * z);
}

static void launch(const Vectors& in, float* out, std::size_t n) {
  if (n == 0) return;
  vec3_norm_no_barrier<<<ceil_div(n, kBlock), kBlock>>>(in.packed, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Vec3Norm, launch);
