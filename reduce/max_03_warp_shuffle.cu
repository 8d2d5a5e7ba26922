// Step 02 has an atomic operation per element. Idea: the block agrees first. Each float becomes an integer of the same
// order (negative ones with all bits but the sign flipped), five shuffles find the greatest of a warp, five more, or
// three, that of the block, and one atomic operation takes it to the result. The order of these does not matter: the
// same bits every run, which a float sum would not have.
// Expect: two orders of magnitude; 256 times fewer atomic operations, though still one for each 1 KB.
// Next question: is there no instruction for this? (__reduce_max_sync, for integers, from sm_80 on: one for the five.)
#include "max_key.cuh"

constexpr int kBlock = 256;

__device__ static void atomic_max(float* address, float value) {
  const int bits = __float_as_int(value);
  if (bits >= 0) {
    atomicMax(reinterpret_cast<int*>(address), bits);
  } else {
    atomicMin(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(bits));
  }
}

__global__ void max_warp_shuffle_start(float* out) { *out = -INFINITY; }

__global__ void max_warp_shuffle(const float* __restrict__ x, float* out, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int key = block_max_once<kBlock>(i < n ? key_of(x[i]) : kMinusInfinity);
  if (threadIdx.x == 0) atomic_max(out, value_of(key));
}

static void launch(const float* x, float* out, std::size_t n) {
  max_warp_shuffle_start<<<1, 1>>>(out);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  max_warp_shuffle<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
