// Decoupled look-back, introduced by steps 08 and 09 of `scan`: computes the sum of all tiles before a tile. T is
// float, or LookBackWord for integers below 2^62.
#pragma once
#include "cuda_helpers.cuh"

#include <type_traits>

// A tile's status word: the state in the two upper bits, the value in the others.
using LookBackWord = unsigned long long;
enum LookBackState : unsigned { kNothing, kSum, kPrefix };
constexpr int kLookBackShift = 62;

__device__ inline LookBackWord look_back_bits(float value) { return __float_as_uint(value); }
__device__ inline LookBackWord look_back_bits(LookBackWord value) { return value; }

template <typename T>
__device__ inline T look_back_value(LookBackWord word) {
  if constexpr (std::is_same_v<T, float>) {
    return __uint_as_float(static_cast<unsigned>(word));
  } else {
    return word & ((T{1} << kLookBackShift) - 1);
  }
}

template <typename T>
__device__ inline void publish(LookBackWord* word, LookBackState state, T value) {
  atomicExch(word, static_cast<LookBackWord>(state) << kLookBackShift | look_back_bits(value));
}

// Returns a tile counter and a status word for each of `tiles` tiles, all set to 0, as each launch requires.
inline LookBackWord* look_back_words(std::size_t tiles) {
  LookBackWord* words = scratch<LookBackWord>(tiles + 1);
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(LookBackWord)));
  return words;
}

// Returns the number of the block's tile to all threads. All must call it once. It contains a __syncthreads().
__device__ inline unsigned take_tile(LookBackWord* words) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = static_cast<unsigned>(atomicAdd(words, 1));
  __syncthreads();
  return tile;
}

// Returns the sum of all tiles before `tile` to all lanes; `total` is the sum of `tile`. One whole warp must call it.
template <typename T>
__device__ inline T look_back(LookBackWord* words, unsigned tile, T total) {
  const int lane = threadIdx.x % 32;
  LookBackWord* const of_tile = words + 1 + tile;
  if (tile == 0) {
    if (lane == 0) publish(of_tile, kPrefix, total);
    return T{0};
  }
  if (lane == 0) publish(of_tile, kSum, total);
  T before{0};
  for (long long nearest = static_cast<long long>(tile) - 1;; nearest -= 32) {
    // each lane reads one tile's status word; before tile 0 the prefix is 0
    const long long other = nearest - lane;
    LookBackWord word;
    unsigned prefixes, wanted;
    do {
      word = other >= 0 ? *static_cast<const volatile LookBackWord*>(words + 1 + other)
                        : LookBackWord{kPrefix} << kLookBackShift;
      prefixes = __ballot_sync(0xffffffff, word >> kLookBackShift == kPrefix);
      wanted = prefixes ^ (prefixes - 1);  // the lanes up to the first one with a prefix, or all lanes
    } while ((__ballot_sync(0xffffffff, word >> kLookBackShift != kNothing) & wanted) != wanted);
    // add the values of these lanes
    T sum = wanted >> lane & 1 ? look_back_value<T>(word) : T{0};
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    before += sum;
    if (prefixes != 0) break;
  }
  if (lane == 0) publish(of_tile, kPrefix, before + total);
  return before;
}
