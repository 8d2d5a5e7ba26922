// Step 07 needs half a million blocks for 2^28 elements, and each thread has two 4-byte loads in flight. Idea: a fixed
// grid that just fills the GPU; every thread walks over the array with float4 loads and keeps one sum in a register.
// The tree is paid for once per block instead of once per 512 elements, and a second launch adds up the few partial
// sums. The chain of additions is longer now (n / threads), and with it grows the error bound.
// Expect: near the speed of a kernel that only reads.
// Next question: two kernels, and the second has one block. How else can blocks agree on a sum?
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 256;

__global__ void sum_float4_grid_stride(const float* __restrict__ x, float* __restrict__ sums, std::size_t n,
                                       bool aligned) {
  __shared__ float warp_sums[kBlock / 32];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;

  float sum = 0.0f;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0;
  for (std::size_t i = thread; i < n4; i += threads) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t i = 4 * n4 + thread; i < n; i += threads) sum += x[i];  // the tail, or all if x is not aligned

  sum = warp_sum(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < kBlock / 32 ? warp_sums[lane] : 0.0f);
    if (lane == 0) sums[blockIdx.x] = sum;
  }
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(sum_float4_grid_stride, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  float* sums = scratch<float>(grid);
  sum_float4_grid_stride<<<grid, kBlock>>>(x, sums, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
  sum_float4_grid_stride<<<1, kBlock>>>(sums, out, grid, true);
  CUDA_CHECK(cudaGetLastError());
}

// Per launch: the thread's chain, longest if x is not aligned, then 5 + 3 levels of tree.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Sum, launch, height);
