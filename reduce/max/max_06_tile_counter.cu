// Problem:  step 05 has a block, a fence and a ticket for each 128 KB.
// Idea:     a maximum is the same in any order, so a block may take whichever tile is next: as many blocks as are
//           resident, and a counter that hands out tiles. The next number is fetched while a tile is loaded.
// Expect:   1.01 to 1.03x step 05 from 2^28 on: no SM waits for a slower one, and 264 tickets are drawn, not 8192. At
//           2^20 there is a tile per block as before, and one barrier more.
// Measured: 1.00x step 05, 1.02x CUB at 2^28 (H200); 1.00x, 1.02x (H100 at bcda27c).
// Next:     may a sum do this? (Only if each tile has its partial sum; else its last bits depend on who came first.)
#include "../last_block.cuh"
#include "max_key.cuh"

constexpr int kBlock = 1024;
constexpr int kLoads = 4;               // float4 in flight per thread
constexpr int kTile = kLoads * kBlock;  // float4 per block

static __device__ unsigned next_tile;  // tiles handed out beyond the first of each block; 0 between launches

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    max_tile_counter(const float* __restrict__ x, int* keys, float* __restrict__ out, std::size_t n, unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4, tail = head + 4 * n4;
  const unsigned tiles = static_cast<unsigned>(n4 / kTile), tid = threadIdx.x;
  __shared__ unsigned next[2];  // of this turn and of the one before, which some warps may still read

  int key = kMinusInfinity;
  unsigned tile = blockIdx.x;
  for (int turn = 0; tile < tiles; turn ^= 1) {
    unsigned fetched = tiles;  // none, if each block has had its one tile
    if (tid == 0 && tiles > gridDim.x) fetched = gridDim.x + atomicAdd(&next_tile, 1u);  // under way during the loads
    float4 v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      const float4* p = x4 + std::size_t{tile} * kTile + k * kBlock + tid;
      v[k] = kEvictFirst ? __ldcs(p) : *p;
    }
#pragma unroll
    for (int k = 0; k < kLoads; ++k) key = max(key, key_of(v[k]));
    if (tid == 0) next[turn] = fetched;
    __syncthreads();
    tile = next[turn];
  }
  // load: what is left of the last tile, the head and the tail
  std::size_t i = std::size_t{tiles} * kTile + std::size_t{blockIdx.x} * kBlock + tid;
  for (; i < n4; i += std::size_t{gridDim.x} * kBlock) key = max(key, key_of(x4[i]));
  if (blockIdx.x == 0 && tid < head) key = max(key, key_of(x[tid]));
  if (blockIdx.x == 0 && tid < n - tail) key = max(key, key_of(x[tail + tid]));

  // reduce within the block
  key = block_max_to_thread_0<kBlock>(key);
  if (!is_last_block(keys, key)) return;

  // combine: the last block reduces the blocks' keys
  if (tid == 0) next_tile = 0;
  key = kMinusInfinity;
  combine_partials<kBlock>(keys, gridDim.x, [&](int other, unsigned) { key = max(key, other); });
  key = block_max_to_thread_0<kBlock>(key);
  if (tid == 0) *out = value_of(key);
}

static void launch(const float* x, float* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const auto kernel = evict_first_pays(n * sizeof(float)) ? max_tile_counter<true> : max_tile_counter<false>;
  const std::size_t resident = resident_blocks(kernel, kBlock);
  const auto grid = static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n / 4, kTile), 1, resident));
  kernel<<<grid, kBlock>>>(x, scratch<int>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Max, launch);
