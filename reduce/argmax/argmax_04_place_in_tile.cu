// Problem:  step 03 searches a tile again when all is done: some 3.5 us more than max, whatever n.
// Idea:     each block knows its own maximum while its tile is still in registers. The threads that hold it compare
//           their 16 values with it, and the smallest place wins in shared memory. The last block picks the first tile.
// Expect:   1.3x step 03 at 2^20, max 05 and some 0.5 us; 1.0x from 2^28 on: one barrier more per block, of which
//           another block's loads hide the wait.
// Measured: 1.08x step 03, 1.01x CUB at 2^28 (H200); 1.01x, 1.04x (H100).
// Next:     is a shared atomicMin per holder not slow? (On random data one thread holds the maximum; if all do, 1024.)
#include "argmax.cuh"
#include "../last_block.cuh"

constexpr unsigned kBlock = 1024;
constexpr unsigned kLoads = 4;                 // float4 in flight per thread
constexpr unsigned kTile = kLoads * kBlock;    // float4 per block
constexpr unsigned kInRegisters = 0xffffffff;  // a place that has not been looked up
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Pair = unsigned long long;  // key and complement of the tile: of equal keys the first tile's is greater

// A float as an unsigned of the same order: 0 < ... < infinity < NaN. The addition turns -0 into +0.
__device__ static unsigned key_of(float v) {
  const unsigned bits = __float_as_uint(v + 0.0f);
  return v != v ? 0xffffffff : bits & 0x80000000 ? ~bits : bits | 0x80000000;
}
__device__ static unsigned key_of(float4 v) {
  return max(max(key_of(v.x), key_of(v.y)), max(key_of(v.z), key_of(v.w)));
}
// The first of v's elements with this key, which one of them has.
__device__ static unsigned place_of(unsigned key, float4 v) {
  return key_of(v.x) == key ? 0 : key_of(v.y) == key ? 1 : key_of(v.z) == key ? 2 : 3;
}

// The greatest value of the block, returned to all threads. All threads must call it.
template <typename T>
__device__ static T block_max(T value) {
  __shared__ T warps[kBlock / 32];
  __syncthreads();  // of the call before, all warps have read `warps`
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(0xffffffff, value, offset));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[threadIdx.x % 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(0xffffffff, value, offset));
  return value;
}

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n. Block b has tile b, and its
// places count from x + 4 * kTile * b.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    argmax_place_in_tile(const float* __restrict__ x, unsigned* keys, unsigned* places, std::int64_t* __restrict__ out,
                         std::size_t n, unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4, tail = head + 4 * n4;
  const std::size_t tile = std::size_t{blockIdx.x} * kTile;
  const unsigned tid = threadIdx.x;
  __shared__ unsigned first;  // the smallest place that has the block's greatest key
  if (tid == 0) first = kInRegisters;

  // load: a tile, all loads in flight. Past the end -infinity: any element there is has a smaller place, or the same.
  float4 v[kLoads];
#pragma unroll
  for (unsigned k = 0; k < kLoads; ++k) {
    const std::size_t i = tile + k * kBlock + tid;
    v[k] = make_float4(-kInfinity, -kInfinity, -kInfinity, -kInfinity);
    if (i < n4) v[k] = kEvictFirst ? __ldcs(x4 + i) : x4[i];
  }
  unsigned key = 0, place = kInRegisters;
#pragma unroll
  for (unsigned k = 0; k < kLoads; ++k) key = max(key, key_of(v[k]));
  if (blockIdx.x == gridDim.x - 1 && tid < n - tail && key_of(x[tail + tid]) > key) {
    key = key_of(x[tail + tid]);
    place = static_cast<unsigned>(tail - 4 * tile) + tid;
  }
  if (blockIdx.x == 0 && tid < head && key_of(x[tid]) >= key) {
    key = key_of(x[tid]);
    place = tid;
  }

  // reduce within the block: the greatest key, then the smallest place that has it
  const unsigned greatest = block_max(key);
  if (key == greatest) {
    if (place == kInRegisters) {
#pragma unroll
      for (unsigned k = kLoads; k-- > 0;) {
        if (key_of(v[k]) == key) place = head + 4 * (k * kBlock + tid) + place_of(key, v[k]);
      }
    }
    atomicMin(&first, place);
  }
  __syncthreads();
  if (tid == 0) places[blockIdx.x] = first;
  if (!is_last_block(keys, greatest)) return;

  // combine: the greatest key, and the first tile that has it
  Pair best = 0;
  combine_partials<kBlock>(keys, gridDim.x,
                           [&](unsigned other, unsigned b) { best = max(best, Pair{other} << 32 | ~b); });
  best = block_max(best);
  const unsigned winner = ~static_cast<unsigned>(best);
  if (tid == 0) *out = n == 0 ? -1 : static_cast<std::int64_t>(4) * kTile * winner + __ldcg(places + winner);
}

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const auto grid = static_cast<unsigned>(std::max<std::size_t>(1, ceil_div((n - head) / 4, kTile)));
  unsigned* keys = scratch<unsigned, struct Keys>(grid);
  unsigned* places = scratch<unsigned, struct Places>(grid);
  const auto kernel = evict_first_pays(n * sizeof(float)) ? argmax_place_in_tile<true> : argmax_place_in_tile<false>;
  kernel<<<grid, kBlock>>>(x, keys, places, out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Argmax, launch);
