// Step 10's threads walk: each new load waits behind the loop of its own thread, and 8 small blocks per SM drift apart
// until they read all over the array. Idea: no walk. One block of 1024 threads takes one tile of 64 KB, each thread
// loads four float4 at once, and the next tile is a fresh block's. Neighbouring tiles are read at the same time, which
// DRAM likes. The price is one partial sum per tile (65,536 for 2^30 elements), a few microseconds for the last block.
// A misaligned x costs nothing now: block 0 adds the 1 to 3 floats before the first 16-byte boundary, the rest is
// aligned.
// Arrays of up to a few times the L2 cache are read with __ldcs (evict first): such loads do not push out what other
// kernels left in L2, so nothing has to be written back meanwhile. Larger arrays do not gain, and are read plainly.
// Expect: two or three per cent over step 10 on large arrays, and the fixed cost of one launch on small ones.
// Next question: and 16 loads per thread? (Registers halve the resident threads; the bytes in flight stay the same.)
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 4;               // float4 in flight per thread
constexpr int kTile = kLoads * kBlock;  // float4 per block

__device__ static float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

static __device__ unsigned blocks_done;  // 0 between launches; one launch at a time may use it

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    sum_tuned(const float* __restrict__ x, float* sums, float* __restrict__ out, std::size_t n, unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4;
  const std::size_t tile = static_cast<std::size_t>(blockIdx.x) * kTile;
  const unsigned tid = threadIdx.x;

  float sum = 0.0f;
  if (tile + kTile <= n4) {
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
  if (blockIdx.x == 0) {
    const std::size_t tail = head + 4 * n4;
    if (tid < head) sum += x[tid];
    if (tid < n - tail) sum += x[tail + tid];
  }

  sum = block_sum<kBlock>(sum);
  __shared__ bool last;
  if (tid == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;  // the whole block agrees

  __threadfence();  // the ticket was seen before the sums below are read
  sum = 0.0f;
  for (unsigned b = tid; b < gridDim.x; b += kBlock) sum += __ldcg(sums + b);  // from L2: L1 is not coherent
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
