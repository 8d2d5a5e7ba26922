// Mean and variance in one pass: Welford's update (1962) and the merge of Chan, Golub and LeVeque (1979).
#pragma once
#include "ladder.cuh"

// n elements, their mean, and the sum of their squared distances from it. The empty set is {0, 0, 0}. n is exact up to
// 2^24; beyond, n + 1 rounds to n. A chain that long has an error bound as large as its elements anyway.
struct Moments {
  float n, mean, squares;
};

// Returns the moments of the set with x added.
__device__ inline Moments update(Moments m, float x) {
  const float n = m.n + 1.0f, d = x - m.mean, mean = m.mean + d / n;
  return {n, mean, m.squares + d * (x - mean)};
}

// Returns the moments of both sets together. The test of n avoids 0 / 0 = NaN for two empty sets.
__device__ inline Moments merge(Moments a, Moments b) {
  const float n = a.n + b.n, share = n > 0.0f ? b.n / n : 0.0f, d = b.mean - a.mean;
  return {n, a.mean + d * share, a.squares + b.squares + d * d * a.n * share};
}

// Merges over the warp and returns the result to all lanes. All 32 lanes must call it.
__device__ inline Moments warp_merge(Moments m) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    m = merge(m, {__shfl_xor_sync(0xffffffff, m.n, offset), __shfl_xor_sync(0xffffffff, m.mean, offset),
                  __shfl_xor_sync(0xffffffff, m.squares, offset)});
  }
  return m;
}
