// Atomic maximum for the steps of `max` that combine blocks or threads in *out.
#pragma once
#include "cuda_helpers.cuh"

// Must run before the first atomic_max(): stores the maximum of no elements.
static __global__ void store_minus_infinity(float* out) { *out = -INFINITY; }

// *address = max(*address, value) as one atomic operation, introduced by step 02. A NaN must have sign bit 0.
__device__ inline void atomic_max(float* address, float value) {
  const int bits = __float_as_int(value);
  if (bits >= 0) {
    atomicMax(reinterpret_cast<int*>(address), bits);
  } else {
    atomicMin(reinterpret_cast<unsigned*>(address), static_cast<unsigned>(bits));
  }
}
