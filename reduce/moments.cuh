// Mean and variance in one pass: Welford's update (1962), and the merge of Chan, Golub and LeVeque (1979).
#pragma once
#include "ladder.cuh"

// n elements, their mean, and the sum of their squared distances from it. The empty set is {0, 0, 0}. n is exact up to
// 2^24: beyond that, n + 1 is n. A chain of so many updates has an error bound as large as its elements anyway.
struct Moments {
  float n, mean, squares;
};

// The set with x in it.
__device__ inline Moments update(Moments m, float x) {
  const float n = m.n + 1.0f, d = x - m.mean, mean = m.mean + d / n;
  return {n, mean, m.squares + d * (x - mean)};
}

// Both sets together. The guard: for two empty sets b's share would be 0 / 0 = NaN.
__device__ inline Moments merge(Moments a, Moments b) {
  const float n = a.n + b.n, share = n > 0.0f ? b.n / n : 0.0f, d = b.mean - a.mean;
  return {n, a.mean + d * share, a.squares + b.squares + d * d * a.n * share};
}

// Merged over the warp, returned to every lane. All 32 lanes must call it.
__device__ inline Moments warp_merge(Moments m) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    m = merge(m, {__shfl_xor_sync(0xffffffff, m.n, offset), __shfl_xor_sync(0xffffffff, m.mean, offset),
                  __shfl_xor_sync(0xffffffff, m.squares, offset)});
  }
  return m;
}
