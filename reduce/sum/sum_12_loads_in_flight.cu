// Problem:  step 11 has one float4 load in flight per thread: the loop waits for it before it issues the next (SASS).
// Idea:     four float4 per thread and trip of the grid-stride loop, all loaded before the first addition.
// Expect:   1.00 to 1.03x step 11 from 2^28 on: its 32 KB per SM nearly equal latency x bandwidth (33 KB on an H200).
// Measured: 1.02x step 11, 1.01x CUB at 2^28 (H200); 1.01x, 1.01x (H100).
// Next:     why not let the compiler unroll the loop? (It does not: each trip tests the end, and n is unknown.)
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 512;
constexpr int kLoads = 4;               // float4 in flight per thread
constexpr int kTile = kLoads * kBlock;  // float4 per block and trip

static __device__ unsigned blocks_done;  // tickets drawn; 0 between launches, which must not overlap

__global__ void sum_loads_in_flight(const float* __restrict__ x, float* partials, float* __restrict__ out,
                                    std::size_t n, bool aligned) {
  // load: tiles, then single float4, then the tail, or all of x if it is not aligned
  const std::size_t first = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * kBlock;
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t n4 = aligned ? n / 4 : 0, tiles = n4 / kTile;
  float sum = 0.0f;
  for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = x4[tile * kTile + k * kBlock + threadIdx.x];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }
  for (std::size_t i = tiles * kTile + first; i < n4; i += stride) {
    const float4 v = x4[i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (std::size_t i = 4 * n4 + first; i < n; i += stride) sum += x[i];

  // reduce within the block
  sum = block_sum_to_thread_0<kBlock>(sum);

  // store the partial sum, draw a ticket
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();  // not a barrier: it orders the store before the ticket, and waits for no other thread
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 for the next launch
  }
  __syncthreads();
  if (!last) return;  // the whole block returns

  // combine: the last block adds the partial sums. The fences order these loads; __ldcg is only a cache hint
  __threadfence();  // the ticket was seen before the partial sums are read
  sum = 0.0f;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) sum += __ldcg(partials + b);
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(sum_loads_in_flight, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kTile), 1, resident));
}

static void launch(const float* x, float* out, std::size_t n) {
  const unsigned grid = grid_size(n);
  sum_loads_in_flight<<<grid, kBlock>>>(x, scratch<float>(grid), out, n, aligned_for<float4>(x));
  CUDA_CHECK(cudaGetLastError());
}

// A thread's chain, longest if x is not aligned, kLoads more float4 and a tail; 10 levels; the partial sums; 10 again.
static std::size_t height(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return ceil_div(n, grid * kBlock) + kLoads + 3 + 10 + ceil_div(grid, kBlock) + 10;
}

LADDER_STEP(Sum, launch, height);
