// Problem:  step 04 has one float4 in flight per thread, and a separate launch must store -infinity first.
// Idea:     as in sum 13, a tile of 128 KB per block and evict-first loads. The last block reduces the tiles' keys: one
//           launch.
// Expect:   1.01 to 1.05x step 04 at 2^28, as sum gained; 1.05 to 1.2x at 2^20, where a launch is a large share.
// Measured: 1.04x step 04, 1.01x CUB at 2^28 (H200); 1.03x, 1.02x (H100).
// Next:     step 04 also has the same bits every run. Why use the last block? (Only to save a launch.)
#include "../last_block.cuh"
#include "max_key.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 8;               // float4 per thread; registers limit how many are in flight
constexpr int kTile = kLoads * kBlock;  // float4 per block

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    max_last_block(const float* __restrict__ x, int* keys, float* __restrict__ out, std::size_t n, unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4;
  const std::size_t tile = std::size_t{blockIdx.x} * kTile;
  const unsigned tid = threadIdx.x;

  int key = kMinusInfinity;
  if (tile + kTile <= n4) {  // load a whole tile, all loads in flight
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const float4* p = x4 + tile + k * kBlock + tid;
      v[k] = kEvictFirst ? __ldcs(p) : *p;
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) key = max(key, key_of(v[k]));
  } else {
    for (std::size_t i = tile + tid; i < n4; i += kBlock) key = max(key, key_of(x4[i]));
  }
  if (blockIdx.x == 0) {  // the head and the tail
    const std::size_t tail = head + 4 * n4;
    if (tid < head) key = max(key, key_of(x[tid]));
    if (tid < n - tail) key = max(key, key_of(x[tail + tid]));
  }

  // reduce within the block
  key = block_max_to_thread_0<kBlock>(key);
  if (!is_last_block(keys, key)) return;

  // combine: the last block reduces the tiles' keys
  key = kMinusInfinity;
  combine_partials<kBlock>(keys, gridDim.x, [&](int other, unsigned) { key = max(key, other); });
  key = block_max_to_thread_0<kBlock>(key);
  if (tid == 0) *out = value_of(key);
}

static void launch(const float* x, float* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const auto grid = static_cast<unsigned>(std::max<std::size_t>(1, ceil_div(n / 4, kTile)));
  const auto kernel = evict_first_pays(n * sizeof(float)) ? max_last_block<true> : max_last_block<false>;
  kernel<<<grid, kBlock>>>(x, scratch<int>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
