// The order of float keys, as a whole number.
#pragma once
#include "sort.cuh"

// Rises with the key, and is equal for -0 and +0. Above 0 a float's bits rise with it; below 0 they fall, so they are
// negated: that of -0 is 2^31, as that of +0. A NaN whose bits are all 1 but the sign's has 2^32 - 1, the largest.
__device__ inline unsigned sort_order(float key) {
  const unsigned bits = __float_as_uint(key);
  return bits >> 31 ? 0u - bits : bits | 0x80000000u;
}
