// Step 01 has 8 bytes in flight per thread. Idea: float4 from both vectors. Both must be 16-byte aligned; a caller who
// passes x + 1 and y gets the scalar loop, and it is the second pointer that the test forgets.
// Expect: the memory's speed, or a per cent below it.
// Next question: x and y are both off by one float. Must that be slow? (No: peel three products, and the rest is
// aligned.)
#include "block_reduce.cuh"
#include "dot.cuh"

constexpr int kBlock = 256;

__global__ void dot_float4(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ sums,
                           std::size_t n, bool aligned) {
  const std::size_t thread = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  float sum = 0.0f;
  const float4 *x4 = reinterpret_cast<const float4*>(x), *y4 = reinterpret_cast<const float4*>(y);
  const std::size_t n4 = aligned ? n / 4 : 0;
  for (std::size_t i = thread; i < n4; i += threads) {
    const float4 u = x4[i], v = y4[i];
    sum += (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w);
  }
  for (std::size_t i = 4 * n4 + thread; i < n; i += threads) sum += x[i] * y[i];
  sum = block_sum_once<kBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void dot_float4_finish(const float* __restrict__ sums, float* __restrict__ out, unsigned blocks) {
  float sum = 0.0f;
  for (unsigned b = threadIdx.x; b < blocks; b += kBlock) sum += sums[b];
  sum = block_sum_once<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(dot_float4, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kBlock), 1, resident));
}

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  float* sums = scratch<float>(grid);
  dot_float4<<<grid, kBlock>>>(x, y, sums, n, aligned_for<float4>(x, y));
  CUDA_CHECK(cudaGetLastError());
  dot_float4_finish<<<1, kBlock>>>(sums, out, grid);
  CUDA_CHECK(cudaGetLastError());
}

// Per launch: the thread's chain, longest if the vectors are not aligned, then 5 + 3 levels of tree.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + 8 + ceil_div(grid, kBlock) + 8;
}

LADDER_STEP(Dot, launch, height);
