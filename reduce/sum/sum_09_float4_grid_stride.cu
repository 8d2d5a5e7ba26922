// Problem:  step 08 runs half a million blocks for 2^28 elements. Each loads 8 bytes per thread, reduces and ends.
// Idea:     a fixed grid that just fills the GPU: float4 in a grid-stride loop, one tree per block, a second launch.
// Expect:   0.95 to 1.0x CUB at 2^28: 1056 trees on 132 SMs instead of 524288, and 16 bytes in flight per thread.
// Measured: 1.78x step 08, 0.98x CUB at 2^28 (H200); 1.29x, 0.99x (H100).
// Next:     the second launch has one block. How else can blocks finish a sum?
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_float4_grid_stride(const float* __restrict__ x, float* __restrict__ partials, std::size_t n,
                                       bool aligned) {
  // load: float4 in a grid-stride loop, then the tail, or all of x if it is not aligned
  const std::size_t first = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0;
  float sum = 0.0f;
  for (std::size_t i = first; i < n4; i += stride) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t i = 4 * n4 + first; i < n; i += stride) sum += x[i];

  // reduce within the block, store
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(sum_float4_grid_stride, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  float* partials = scratch<float>(grid);
  sum_float4_grid_stride<<<grid, kBlock>>>(x, partials, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
  sum_float4_grid_stride<<<1, kBlock>>>(partials, out, grid, true);
  CUDA_CHECK(cudaGetLastError());
}

// Per launch: the chain of a thread, longest if x is not aligned, then 5 + 3 levels of tree.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Sum, launch, height);
