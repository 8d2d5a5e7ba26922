// A (maximum, sum) pair that one block leaves in global memory for others, in 64 bits, which are read and written at
// once: no fence is needed, for nothing else is passed on.
#pragma once
#include "online.cuh"

// No pair is kEmpty: its maximum would be NaN, and fmaxf passes over NaN.
constexpr unsigned long long kEmpty = ~0ull;

__device__ inline void publish(unsigned long long* to, MaxSum pair) {
  const auto high = static_cast<unsigned long long>(__float_as_uint(pair.max));
  atomicExch(to, high << 32 | __float_as_uint(pair.sum));
}
// Waits until another block has published the pair.
__device__ inline MaxSum await(const unsigned long long* from) {
  const volatile unsigned long long* const pair = from;
  unsigned long long bits = *pair;
  while (bits == kEmpty) {
    __nanosleep(20);
    bits = *pair;
  }
  return {__uint_as_float(static_cast<unsigned>(bits >> 32)), __uint_as_float(static_cast<unsigned>(bits))};
}
