// Step 03 has a block for each 256 elements, and 4 bytes in flight per thread. Idea: a fixed grid that just fills the
// GPU walks over the array with float4; the tree and the atomic operation are paid for once per block.
// Expect: near the speed of a kernel that only reads, as the sum's step with the same idea.
// Next question: four keys cost some 20 instructions per float4. Does that show? (No; at 16 bytes per load a
// multiprocessor has some 150 instruction slots for each before the next has arrived.)
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
  key = block_max_once<kBlock>(key);
  if (threadIdx.x == 0) atomic_max(out, value_of(key));
}

static void launch(const float* x, float* out, std::size_t n) {
  max_float4_grid_stride_start<<<1, 1>>>(out);
  CUDA_CHECK(cudaGetLastError());
  if (n == 0) return;
  const std::size_t resident = resident_blocks(max_float4_grid_stride, kBlock);
  const auto grid = static_cast<unsigned>(std::min(ceil_div(n, 4 * kBlock), resident));
  max_float4_grid_stride<<<grid, kBlock>>>(x, out, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
