// Problem:  step 12 gives each block a fixed share of the tiles. SMs are not equally fast, so the slowest finishes
//           last.
// Idea:     no loop: one block per tile of 128 KB, so each SM takes the next tile when it is free. The head before the
//           first 16-byte boundary is peeled. Loads are evict-first (__ldcs) for inputs up to 8 times L2.
// Expect:   0.99 to 1.02x step 12 from 2^28 on: SMs end together, but a tile's sum, fence and ticket cost about 0.5 ns.
//           1.1x at 2^24, cold: evict-first loads leave the earlier kernel's dirty lines in L2.
// Measured: 1.00x step 12, 1.00x CUB at 2^28 (H200); 1.01x, 1.02x (H100).
// Next:     at 2^30, 32768 blocks share one ticket word. What would cost less? (A word per group, then a second
//           ticket.)
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 8;               // float4 per thread; registers limit how many are in flight
constexpr int kTile = kLoads * kBlock;  // float4 per block

static __device__ unsigned blocks_done;  // tickets drawn; 0 between launches, which must not overlap

__device__ static float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock) sum_tile_per_block(const float* __restrict__ x, float* partials,
                                                             float* __restrict__ out, std::size_t n, unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4;
  const std::size_t tile = std::size_t{blockIdx.x} * kTile;
  const unsigned tid = threadIdx.x;

  float sum = 0.0f;
  if (tile + kTile <= n4) {  // load a whole tile, all loads in flight
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const float4* p = x4 + tile + k * kBlock + tid;
      v[k] = kEvictFirst ? __ldcs(p) : *p;
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum += sum4(v[k]);
  } else {
    for (std::size_t i = tile + tid; i < n4; i += kBlock) sum += sum4(x4[i]);
  }
  if (blockIdx.x == 0) {  // the head and the tail
    const std::size_t tail = head + 4 * n4;
    if (tid < head) sum += x[tid];
    if (tid < n - tail) sum += x[tail + tid];
  }

  // reduce within the block
  sum = block_sum_to_thread_0<kBlock>(sum);

  // store the partial sum, draw a ticket
  __shared__ bool last;
  if (tid == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();  // a block that sees the ticket sees the partial sum
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;

  // combine: the last block adds the partial sums, several loads in flight per thread
  __threadfence();  // the ticket was seen before the partial sums are read
  sum = 0.0f;
#pragma unroll 8
  for (unsigned b = tid; b < gridDim.x; b += kBlock) sum += __ldcg(partials + b);
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (tid == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(n / 4, kTile)));
}

static void launch(const float* x, float* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const unsigned grid = grid_size(n);
  const auto kernel = evict_first_pays(n * sizeof(float)) ? sum_tile_per_block<true> : sum_tile_per_block<false>;
  kernel<<<grid, kBlock>>>(x, scratch<float>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

// In a thread 2 levels in a float4, kLoads of them, head and tail; 10 levels in the block; the partial sums; 10 again.
static std::size_t height(std::size_t n) { return 2 + kLoads + 2 + 10 + ceil_div(grid_size(n), kBlock) + 10; }

LADDER_STEP(Sum, launch, height);
