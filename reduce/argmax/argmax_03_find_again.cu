// Problem:  step 02 updates an index in each iteration, although only one index is needed.
// Idea:     find only the maximum, by tiles as in max 05. The last block then searches the first tile that contains it.
// Expect:   the speed of max 05, plus 2 to 3 us for the search.
// Measured: 0.95x step 02, 0.93x CUB at 2^28 (H200); 1.05x, 1.04x (H100).
// Next:     is the search right if another kernel changes x meanwhile? (No: nothing may write x while this kernel
//           runs.)
#include "argmax.cuh"
#include "../last_block.cuh"

constexpr unsigned kBlock = 1024;
constexpr unsigned kLoads = 4;               // float4 in flight per thread
constexpr unsigned kTile = kLoads * kBlock;  // float4 per block
using Pair = unsigned long long;             // key and tile, or an index, compared as one number

// Maps a float to an unsigned of the same order: 0 < ... < infinity < NaN. The addition turns -0 into +0.
__device__ static unsigned key_of(float v) {
  const unsigned bits = __float_as_uint(v + 0.0f);
  return v != v ? 0xffffffff : bits & 0x80000000 ? ~bits : bits | 0x80000000;
}
__device__ static unsigned key_of(float4 v) {
  return max(max(key_of(v.x), key_of(v.y)), max(key_of(v.z), key_of(v.w)));
}

// Returns the greatest value of the block to all threads. All threads must call it.
template <typename T>
__device__ static T block_max_to_all(T value) {
  __shared__ T warps[kBlock / 32];
  __syncthreads();  // all warps have read `warps` in the previous call
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(0xffffffff, value, offset));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[threadIdx.x % 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(0xffffffff, value, offset));
  return value;
}

// kEvictFirst: read with __ldcs. head: floats before the first 16-byte boundary, at most n. Block b has tile b.
template <bool kEvictFirst>
__global__ void __launch_bounds__(kBlock)
    argmax_find_again(const float* __restrict__ x, unsigned* keys, std::int64_t* __restrict__ out, std::size_t n,
                      unsigned head) {
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  const std::size_t n4 = (n - head) / 4, tail = head + 4 * n4;
  const std::size_t tile = std::size_t{blockIdx.x} * kTile;
  const unsigned tid = threadIdx.x;

  unsigned key = 0;
  if (tile + kTile <= n4) {  // load a whole tile, all loads in flight
    float4 v[kLoads];
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) {
      const float4* p = x4 + tile + k * kBlock + tid;
      v[k] = kEvictFirst ? __ldcs(p) : *p;
    }
#pragma unroll
    for (unsigned k = 0; k < kLoads; ++k) key = max(key, key_of(v[k]));
  } else {
    for (std::size_t i = tile + tid; i < n4; i += kBlock) key = max(key, key_of(x4[i]));
  }
  if (blockIdx.x == 0 && tid < head) key = max(key, key_of(x[tid]));
  if (blockIdx.x == gridDim.x - 1 && tid < n - tail) key = max(key, key_of(x[tail + tid]));

  // reduce within the block
  key = block_max_to_all(key);
  if (!is_last_block(keys, key)) return;

  // combine: the greatest key and the first tile that has it; the first tile has the greatest complement
  Pair best = 0;
  combine_partials<kBlock>(keys, gridDim.x,
                           [&](unsigned other, unsigned b) { best = max(best, Pair{other} << 32 | ~b); });
  best = block_max_to_all(best);

  // search that tile again for the first index with this key, which has the greatest complement
  const unsigned winner = ~static_cast<unsigned>(best);
  const std::size_t begin = winner == 0 ? 0 : head + std::size_t{4} * kTile * winner;
  const std::size_t end = winner == gridDim.x - 1 ? n : head + std::size_t{4} * kTile * (winner + 1);
  constexpr unsigned kAgain = 4 * kTile / kBlock + 1;  // per thread; the first and the last tile have a few more
  unsigned keys_again[kAgain];
#pragma unroll
  for (unsigned k = 0; k < kAgain; ++k) {  // issue all loads before any comparison of keys
    const std::size_t i = begin + k * kBlock + tid;
    keys_again[k] = i < end ? key_of(x[i]) : 0;
  }
  Pair index = 0;
#pragma unroll
  for (unsigned k = 0; k < kAgain; ++k) {
    if (keys_again[k] == best >> 32) index = max(index, ~Pair{begin + k * kBlock + tid});
  }
  index = block_max_to_all(index);
  if (tid == 0) *out = n == 0 ? -1 : static_cast<std::int64_t>(~index);
}

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  const auto head = static_cast<unsigned>(std::min<std::size_t>(n, floats_to_boundary(x)));
  const auto grid = static_cast<unsigned>(std::max<std::size_t>(1, ceil_div((n - head) / 4, kTile)));
  const auto kernel = evict_first_pays(n * sizeof(float)) ? argmax_find_again<true> : argmax_find_again<false>;
  kernel<<<grid, kBlock>>>(x, scratch<unsigned>(grid), out, n, head);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Argmax, launch);
