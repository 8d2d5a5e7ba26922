// Step 02 walks, and needs two launches. Ideas, both from the sum's last steps: a tile for each block of 1024 threads,
// two float4 of each vector per thread in flight at once; and the block that finishes last adds up the tiles' sums. If
// x and y are off by the same number of floats, block 0 takes the few products before the first 16-byte boundary, and
// the rest is aligned.
// Expect: a per cent over step 02 on large vectors, a launch's time on small ones.
// Next question: why two float4 of each and not four? (64 bytes per thread and 2048 threads are 128 KB in flight per
// multiprocessor; 15 would do.)
#include "block_reduce.cuh"
#include "dot.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 2;               // float4 in flight per thread and vector
constexpr int kTile = kLoads * kBlock;  // float4 per block

__device__ static float dot4(float4 u, float4 v) { return (u.x * v.x + u.y * v.y) + (u.z * v.z + u.w * v.w); }

static __device__ unsigned blocks_done;  // 0 between launches; one launch at a time may use it

// kEvictFirst: read with __ldcs. From `head` on, n4 float4 of both vectors are aligned; the rest is done one by one.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    dot_last_block(const float* __restrict__ x, const float* __restrict__ y, float* sums, float* __restrict__ out,
                   std::size_t n, unsigned head, std::size_t n4) {
  const float4 *x4 = reinterpret_cast<const float4*>(x + head), *y4 = reinterpret_cast<const float4*>(y + head);
  const std::size_t tile = static_cast<std::size_t>(blockIdx.x) * kTile;
  const unsigned tid = threadIdx.x;

  float sum = 0.0f;
  if (tile + kTile <= n4) {
    float4 u[kLoads], v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const std::size_t i = tile + k * kBlock + tid;
      u[k] = kEvictFirst ? __ldcs(x4 + i) : x4[i];
      v[k] = kEvictFirst ? __ldcs(y4 + i) : y4[i];
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) sum += dot4(u[k], v[k]);
  } else {
    // The loops for the rest stay loops: unrolled they take so many registers that one block fits where two should.
#pragma unroll 1
    for (std::size_t i = tile + tid; i < n4; i += kBlock) sum += dot4(x4[i], y4[i]);
  }
  if (blockIdx.x == 0 && tid < head) sum += x[tid] * y[tid];
  const std::size_t first = head + 4 * n4 + static_cast<std::size_t>(blockIdx.x) * kBlock + tid;
#pragma unroll 1
  for (std::size_t i = first; i < n; i += static_cast<std::size_t>(gridDim.x) * kBlock) sum += x[i] * y[i];

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

static void launch(const float* x, const float* y, float* out, std::size_t n) {
  const auto floats_past = [](const float* p) { return reinterpret_cast<std::uintptr_t>(p) / sizeof(float) % 4; };
  const std::size_t past = floats_past(x);
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, (4 - past) % 4));
  const std::size_t n4 = past == floats_past(y) ? (n - head) / 4 : 0;  // else nothing is aligned in both
  const unsigned grid = grid_size(n);
  const auto kernel = evict_first_pays(2 * n * sizeof(float)) ? dot_last_block<true> : dot_last_block<false>;
  kernel<<<grid, kBlock>>>(x, y, scratch<float>(grid), out, n, head, n4);
  CUDA_CHECK(cudaGetLastError());
}

// In a thread 2 levels in a float4, kLoads of them, head and tail, or up to 4 kLoads + 2 products one by one; 10 levels
// in the block; the blocks' sums; 10 again.
static std::size_t height(std::size_t n) { return 4 * kLoads + 4 + 10 + ceil_div(grid_size(n), kBlock) + 10; }

LADDER_STEP(Dot, launch, height);
