// Exact work on a 32-bit integer: 128 rounds of Marsaglia's xorshift.
#pragma once
#include "ladder.cuh"

constexpr int kRounds = 128;

__host__ __device__ inline unsigned xorshift_rounds(unsigned v) {
  for (int round = 0; round < kRounds; ++round) {  // bijective, so that a misplaced element is detected
    v ^= v << 13;
    v ^= v >> 17;
    v ^= v << 5;
  }
  return v;
}
