// For the norms, whose rows may have a part of a warp.
#pragma once
#include "ladder.cuh"

// Sum over groups of kLanes neighbouring lanes, returned to each of them. All 32 lanes must call it.
template <unsigned kLanes>
__device__ inline float lanes_sum(float v) {
#pragma unroll
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}
