// Step 03 has a block for each 256 elements, and 4 bytes in flight per thread. Idea: a fixed grid that just fills the
// GPU walks over the array with float4; the tree and the atomic operation are paid for once per block.
// Expect: near the speed of a kernel that only reads, as the sum's step with the same idea.
// Next question: four keys cost some 20 instructions per float4. Does that show? (No; at 16 bytes per load a
// multiprocessor has some 150 instruction slots for each before the next has arrived.)
#include "max.cuh"

constexpr int kBlock = 256;

// Ordered as maximum wants it: ... < -0 < +0 < ... < infinity < NaN. value_of(key_of(v)) is v, or NaN.
__device__ static int key_of(float v) {
  const int bits = __float_as_int(v);
  return v != v ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ static float value_of(int key) { return __int_as_float(key ^ (key >> 31 & 0x7fffffff)); }
constexpr int kMinusInfinity = static_cast<int>(0x807fffff);  // its key

// The greatest over the warp, in lane 0. All 32 lanes must call it.
__device__ static int warp_max(int key) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) key = max(key, __shfl_down_sync(0xffffffff, key, offset));
  return key;
}

// The greatest over the block, in thread 0. All threads of the block must call it, once.
__device__ static int block_max(int key) {
  __shared__ int warp_keys[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  key = warp_max(key);
  if (lane == 0) warp_keys[warp] = key;
  __syncthreads();
  return warp == 0 ? warp_max(lane < kBlock / 32 ? warp_keys[lane] : kMinusInfinity) : kMinusInfinity;
}

__device__ static void atomic_max(float* address, float value) {
  const int bits = __float_as_int(value);
  if (bits >= 0) {
    atomicMax(reinterpret_cast<int*>(address), bits);
  } else {
    atomicMin(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(bits));
  }
}

__global__ void max_float4_grid_stride_start(float* out) { *out = -INFINITY; }

__global__ void max_float4_grid_stride(const float* __restrict__ x, float* out, std::size_t n, bool aligned) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  int key = kMinusInfinity;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0;
  for (std::size_t i = thread; i < n4; i += threads) {
    const float4 v = x4[i];
    key = max(key, max(max(key_of(v.x), key_of(v.y)), max(key_of(v.z), key_of(v.w))));
  }
  for (std::size_t i = 4 * n4 + thread; i < n; i += threads) key = max(key, key_of(x[i]));
  key = block_max(key);
  if (threadIdx.x == 0) atomic_max(out, value_of(key));
}

static void launch(const float* x, float* out, std::size_t n) {
  max_float4_grid_stride_start<<<1, 1>>>(out);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  const std::size_t resident = static_cast<std::size_t>(sm_count()) * (2048 / kBlock);
  const auto grid = static_cast<unsigned>(std::min(ceil_div(n, 4 * kBlock), resident));
  max_float4_grid_stride<<<grid, kBlock>>>(x, out, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
