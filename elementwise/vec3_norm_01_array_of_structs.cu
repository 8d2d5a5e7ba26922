// The first answer: an array of struct { x, y, z }, one thread per vector. 12 bytes is no size that a load has, so
// there are three loads of 4 bytes, and the lanes of each lie 12 bytes apart: the 384 bytes of a warp are 12 sectors,
// and each of the three requests touches all of them. The second and third find them in L1.
// Expect: DRAM delivers every byte once, so it is not three times slower; but L1 serves three times the sectors, and of
// a thread's bytes in flight 12 count. Faster than a scalar copy, short of the memory's speed.
// Next question: how would one load fetch a whole vector?
#include "vec3_norm.cuh"

__global__ void vec3_norm_array_of_structs(const float* __restrict__ packed, float* __restrict__ out, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = packed[3 * i], y = packed[3 * i + 1], z = packed[3 * i + 2];
  out[i] = sqrtf(x * x + y * y + z * z);
}

static void launch(const Vectors& in, float* out, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  vec3_norm_array_of_structs<<<static_cast<unsigned>(ceil_div(n, block)), block>>>(in.packed, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Vec3Norm, launch);
