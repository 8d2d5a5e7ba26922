// Decoupled look-back, as steps 08 and 09 of `scan` introduce it, for steps whose idea is another: a tile's sum becomes
// the sum of all tiles before it.
#pragma once
#include "cuda_helpers.cuh"

// What a tile publishes: in the upper half how far it is, in the lower half a float.
using LookBackWord = unsigned long long;
enum LookBackState : unsigned { kNothing, kSum, kPrefix };

__device__ inline void publish(LookBackWord* word, LookBackState state, float value) {
  atomicExch(word, static_cast<LookBackWord>(state) << 32 | __float_as_uint(value));
}

// The words of `tiles` tiles, and before them the number of tiles taken; all 0, as each launch needs them.
inline LookBackWord* look_back_words(std::size_t tiles) {
  LookBackWord* words = scratch<LookBackWord>(tiles + 1);
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(LookBackWord)));
  return words;
}

// The number of the block's tile, returned to all threads, which must all call it, once. Contains a __syncthreads().
__device__ inline unsigned take_tile(LookBackWord* words) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = static_cast<unsigned>(atomicAdd(words, 1));
  __syncthreads();
  return tile;
}

// The sum of all tiles before `tile`, whose sum is `total`. One warp of the block must call it, with all its lanes; the
// result is returned to all of them.
__device__ inline float look_back(LookBackWord* words, unsigned tile, float total) {
  const int lane = threadIdx.x % 32;
  LookBackWord* const of_tile = words + 1 + tile;
  if (tile == 0) {
    if (lane == 0) publish(of_tile, kPrefix, total);
    return 0.0f;
  }
  if (lane == 0) publish(of_tile, kSum, total);
  float before = 0.0f;
  for (long long nearest = static_cast<long long>(tile) - 1;; nearest -= 32) {
    // each lane reads a tile; what lies before tile 0 is there, and 0
    const long long other = nearest - lane;
    LookBackWord word;
    unsigned prefixes, wanted;
    do {
      word = other >= 0 ? *static_cast<const volatile LookBackWord*>(words + 1 + other) : LookBackWord{kPrefix} << 32;
      prefixes = __ballot_sync(0xffffffff, word >> 32 == kPrefix);
      wanted = prefixes ^ (prefixes - 1);  // the lanes up to the first that has a prefix; all, if none has
    } while ((__ballot_sync(0xffffffff, word >> 32 != kNothing) & wanted) != wanted);
    // add what they have
    float sum = wanted >> lane & 1 ? __uint_as_float(static_cast<unsigned>(word)) : 0.0f;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    before += sum;
    if (prefixes != 0) break;
  }
  if (lane == 0) publish(of_tile, kPrefix, before + total);
  return before;
}
