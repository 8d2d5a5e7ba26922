// Problem:  step 02 has one pair of float4 in flight per thread, and needs two launches.
// Idea:     the changes of sum 11 to 13: two float4 of each vector in flight, evict-first loads, last block. If both
//           vectors have the same misalignment, it is peeled.
// Expect:   1.01 to 1.05x step 02 from 2^24 on, as sum gained; at 2^20 one launch less, one or two microseconds.
// Measured: 1.01x step 02, 1.03x cuBLAS at 2^28 (H200); 1.01x, 1.01x (H100).
// Next:     what if x and y differ in alignment? (Single floats; or aligned float4 of both, with one vector's elements
//           shifted into place in registers.)
#include "block_reduce.cuh"
#include "dot.cuh"
#include "../last_block.cuh"

constexpr int kBlock = 512;
constexpr int kLoads = 2;               // float4 in flight per thread and vector
constexpr int kTile = kLoads * kBlock;  // float4 per block and trip

__device__ static float dot4(float4 u, float4 v) { return (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w); }

// kEvictFirst: read with __ldcs. From `head` on, n4 float4 of both vectors are aligned; other products are scalar.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    dot_last_block(const float* __restrict__ x, const float* __restrict__ y, float* partials, float* __restrict__ out,
                   std::size_t n, unsigned head, std::size_t n4) {
  const float4 *x4 = reinterpret_cast<const float4*>(x + head), *y4 = reinterpret_cast<const float4*>(y + head);
  const std::size_t first = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * kBlock, tiles = n4 / kTile;

  // load: tiles, then single float4
  float sum = 0.0f;
  for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float4 u[kLoads], v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const std::size_t i = tile * kTile + k * kBlock + threadIdx.x;
      u[k] = kEvictFirst ? __ldcs(x4 + i) : x4[i];
      v[k] = kEvictFirst ? __ldcs(y4 + i) : y4[i];
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum += dot4(u[k], v[k]);
  }
  for (std::size_t i = tiles * kTile + first; i < n4; i += stride) sum += dot4(x4[i], y4[i]);
  // load: block 0 takes the head; all blocks share the tail, which is all products if alignments differ
  if (first < head) sum += x[first] * y[first];
  for (std::size_t i = head + 4 * n4 + first; i < n; i += stride) sum += x[i] * y[i];

  // reduce within the block
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (!is_last_block(partials, sum)) return;

  // combine: the last block adds the partial sums
  sum = 0.0f;
  combine_partials<kBlock>(partials, gridDim.x, [&](float partial, unsigned) { sum += partial; });
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

// Returns a grid that suits both kernels, so that the error bound below holds for either.
static unsigned grid_size(std::size_t n) {
  const std::size_t resident =
      std::min(resident_blocks(dot_last_block<true>, kBlock), resident_blocks(dot_last_block<false>, kBlock));
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n / 4, kTile), 1, resident));
}

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const bool both = floats_to_boundary(x) == floats_to_boundary(y);
  const std::size_t n4 = both ? (n - head) / 4 : 0;  // 0 if alignments differ
  const unsigned grid = grid_size(n);
  const auto kernel = evict_first_pays(2 * n * sizeof(float)) ? dot_last_block<true> : dot_last_block<false>;
  kernel<<<grid, kBlock>>>(x, y, scratch<float>(grid), out, n, head, n4);
  CUDA_CHECK(cudaGetLastError());
}

// A thread's chain, longest if nothing is aligned, kLoads more float4, head and tail; 10 levels; the partial sums; 10.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + kLoads + 4 + 10 + ceil_div(grid, kBlock) + 10;
}

LADDER_STEP(Dot, launch, height);
