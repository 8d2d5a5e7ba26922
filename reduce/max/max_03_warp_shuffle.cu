// Problem:  step 02 has one atomic per element, all on the same word.
// Idea:     map floats to ordered ints (max_key.cuh). Shuffles find the greatest of a warp and a block; then one
//           atomic.
// Expect:   50 to 256x step 02 at 2^28: 256 times fewer atomics.
// Measured: 10.8x step 02, 0.21x CUB at 2^28 (H200); 10.4x, 0.29x (H100).
// Why:      the compiler had reduced step 02 to two atomics per warp, one per sign (REDUX, REDG: SASS). One per block
//           of eight warps is 16 times fewer, not 256.
// Next:     one instruction for five shuffles? (__reduce_max_sync: integers, sm_80; redux.sync: also f32, sm_100a.)
#include "max_atomic.cuh"
#include "max_key.cuh"

constexpr int kBlock = 256;

__global__ void max_warp_shuffle(const float* __restrict__ x, float* out, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int key = block_max_to_thread_0<kBlock>(i < n ? key_of(x[i]) : kMinusInfinity);
  if (threadIdx.x == 0) atomic_max(out, value_of(key));
}

static void launch(const float* x, float* out, std::size_t n) {
  store_minus_infinity<<<1, 1>>>(out);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  max_warp_shuffle<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
