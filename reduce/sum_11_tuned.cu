// Problem:  step 10 has one float4 load in flight per thread; the loop waits for it before it issues the next (SASS).
// Idea:     no loop. One tile of 64 KB per block of 1024 threads, four float4 in flight per thread. The head, up to the
//           first 16-byte boundary, is peeled. Up to 8 times the size of L2 the loads are evict-first (__ldcs).
// Expect:   1.01 to 1.05x step 10 from 2^24 on: four times the bytes in flight. The price is a partial sum per 64 KB.
// Measured: 1.03x step 10, 1.01x CUB at 2^28 (H200).
// Why:      1.14x (H200) at 2^24 with a cold L2; 1.15x, and 1.04x warm (H100, older code): most of the gain is that
//           evict-first loads leave the dirty lines of the kernel before in L2 (inferred, not counted).
// Next:     eight float4 per thread? (Registers halve the resident threads, the bytes in flight stay. 1.04x on an H200
//           all the same: half as many blocks.)
#include "block_reduce.cuh"
#include "last_block.cuh"
#include "sum.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 4;               // float4 in flight per thread
constexpr int kTile = kLoads * kBlock;  // float4 per block

__device__ static float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    sum_tuned(const float* __restrict__ x, float* partials, float* __restrict__ out, std::size_t n, unsigned head) {
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
  sum = block_sum<kBlock>(sum);
  if (!is_last_block(partials, sum)) return;

  // combine: the last block adds the partial sums
  sum = 0.0f;
  for (unsigned b = tid; b < gridDim.x; b += kBlock) sum += __ldcg(partials + b);
  sum = block_sum<kBlock>(sum);
  if (tid == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(n / 4, kTile)));
}

static void launch(const float* x, float* out, std::size_t n) {
  const std::size_t past_boundary = reinterpret_cast<std::uintptr_t>(x) % sizeof(float4) / sizeof(float);
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, (4 - past_boundary) % 4));
  const unsigned grid = grid_size(n);
  const auto kernel = evict_first_pays(n * sizeof(float)) ? sum_tuned<true> : sum_tuned<false>;
  kernel<<<grid, kBlock>>>(x, scratch<float>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

// In a thread 2 levels in a float4, kLoads of them, head and tail; 10 levels in the block; the partial sums; 10 again.
static std::size_t height(std::size_t n) { return 2 + kLoads + 2 + 10 + ceil_div(grid_size(n), kBlock) + 10; }

LADDER_STEP(Sum, launch, height);
