// Problem:  at 2^30 the tickets of step 12 are 65536 atomic operations on one word. L2 does one after another, and each
//           block waits for its own.
// Idea:     tiles of 128 KB, half as many; and 64 counters, each on a cache line of its own. The last block of a group
//           draws a second ticket, and who draws the last of these adds the partial sums: in the same fixed order.
// Expect:   1.02 to 1.03x step 12 from 2^28 on: fence and ticket on one word cost 0.5 ns per block of 64 KB, on a word
//           per SM 0.06 ns (measured apart). Up to 2048 blocks one group is faster.
// Measured: 1.04x step 12, 1.01x CUB at 2^28 (H200); 1.00x, 1.02x (H100).
// Why:      1.04x, and 1.05x at 2^30. In another run tiles of 128 KB with one word for all tickets had 1.02x and 1.03x
//           alone: the range counted the tickets, and not that there are fewer blocks besides.
// Next:     why a fence between the two tickets? (The second must not be seen before the group's partial sums.)
#include "block_reduce.cuh"
#include "sum.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 8;               // float4 per thread, of which the registers allow some in flight
constexpr int kTile = kLoads * kBlock;  // float4 per block
constexpr int kAtOnce = 16;             // partial sums in flight per thread of the last block

// Tickets drawn: 0 between launches, of which one at a time may use them.
constexpr unsigned kGroups = 64, kFewBlocks = 2048;  // up to so many blocks one group is faster than two tickets
struct alignas(128) Counter {                        // L2 does atomic operations on one line one after another
  unsigned value;
};
static __device__ Counter blocks_done[kGroups];
static __device__ unsigned groups_done;

__device__ static float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock) sum_ticket_groups(const float* __restrict__ x, float* partials,
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
  sum = block_sum<kBlock>(sum);

  // store the partial sum, draw a ticket of the group, and as its last block one of the grid
  __shared__ bool last;
  if (tid == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();  // whoever sees the ticket sees the partial sum
    const unsigned groups = gridDim.x > kFewBlocks ? kGroups : 1;
    const unsigned group = blockIdx.x % groups, members = ceil_div(gridDim.x - group, groups);
    last = atomicInc(&blocks_done[group].value, members - 1) == members - 1;
    if (last && groups > 1) {
      __threadfence();  // whoever sees the second ticket sees what the first ones showed
      last = atomicInc(&groups_done, groups - 1) == groups - 1;
    }
  }
  __syncthreads();
  if (!last) return;

  // combine: the last block adds the partial sums, kAtOnce loads in flight per thread
  __threadfence();  // the ticket was seen before the partial sums are read
  sum = 0.0f;
  for (unsigned first = tid; first < gridDim.x; first += kAtOnce * kBlock) {
    float v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const unsigned b = first + k * kBlock;
      v[k] = b < gridDim.x ? __ldcg(partials + b) : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) sum += v[k];
  }
  sum = block_sum<kBlock>(sum);
  if (tid == 0) *out = sum;
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(n / 4, kTile)));
}

static void launch(const float* x, float* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const unsigned grid = grid_size(n);
  const auto kernel = evict_first_pays(n * sizeof(float)) ? sum_ticket_groups<true> : sum_ticket_groups<false>;
  kernel<<<grid, kBlock>>>(x, scratch<float>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

// In a thread 2 levels in a float4, kLoads of them, head and tail; 10 levels in the block; the partial sums; 10 again.
static std::size_t height(std::size_t n) { return 2 + kLoads + 2 + 10 + ceil_div(grid_size(n), kBlock) + 10; }

LADDER_STEP(Sum, launch, height);
