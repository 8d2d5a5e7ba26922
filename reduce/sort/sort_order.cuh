// Maps float keys to integers of the same order.
#pragma once
#include "sort.cuh"

// Rises with the key; -0 and +0 are equal. A positive float's bits rise with it, a negative one's fall, so those are
// negated: -0 becomes 2^31, like +0. A NaN whose bits are all 1 except the sign becomes 2^32 - 1, the largest.
__device__ inline unsigned sort_order(float key) {
  const unsigned bits = __float_as_uint(key);
  return bits >> 31 ? 0u - bits : bits | 0x80000000u;
}
