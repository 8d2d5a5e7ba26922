// An element of a row and its column as one integer. The greater pair has the greater element or, if they are equal,
// the lower column. No two pairs of a row are equal.
#pragma once
#include "../key_index.cuh"
#include "top_k.cuh"

using Pair = unsigned long long;
constexpr Pair kNoPair = 0;           // below the pair of -infinity
constexpr Pair kAboveAll = ~Pair{0};  // above the pair of NaN in column 0

__device__ inline Pair pair_of_key(int key, unsigned column) {
  return Pair{static_cast<unsigned>(key) ^ 0x80000000u} << 32 | (0x7fffffffu - column);
}
__device__ inline Pair pair_of(float v, unsigned column) { return pair_of_key(argmax_key(v), column); }
__device__ inline unsigned column_of(Pair pair) { return 0x7fffffffu - static_cast<unsigned>(pair); }
__device__ inline int key_of(Pair pair) { return static_cast<int>(static_cast<unsigned>(pair >> 32) ^ 0x80000000u); }

// Returns the element. All NaN give the same NaN, and both zeros +0.
__device__ inline float value_of(Pair pair) { return __int_as_float(key_of(pair) ^ (key_of(pair) >> 31 & 0x7fffffff)); }

// Stores element `place` of a row's result.
__device__ inline void store_result(const float* x, float* values, int* indices, unsigned place, Pair pair) {
  values[place] = x[column_of(pair)];
  indices[place] = static_cast<int>(column_of(pair));
}

// Returns the greatest pair of kBlock threads, a multiple of 32, to all of them. All must call it. No barrier is needed
// between two calls.
template <int kBlock>
__device__ inline Pair block_max_to_all(Pair pair) {
  __shared__ Pair warps[kBlock / 32];
  const auto warp_max_to_all = [](Pair p) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) p = max(p, __shfl_xor_sync(0xffffffff, p, offset));
    return p;
  };
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  pair = warp_max_to_all(pair);
  if (lane == 0) warps[warp] = pair;
  __syncthreads();
  pair = warp_max_to_all(lane < kBlock / 32 ? warps[lane] : kNoPair);
  __syncthreads();
  return pair;
}
