// The merge over the threads of a row, for kernels that give a block one row or several: row_softmax 11 and 12,
// cross_entropy 04.
#pragma once
#include "online_softmax.cuh"

// The pair of each row to all of its kThreads threads, from that of each warp, or of the row's part of it. All threads
// of the block must call it, once.
template <unsigned kThreads, unsigned kBlock>
__device__ MaxSum merge_row(MaxSum s) {
  if constexpr (kThreads > 32) {
    __shared__ float2 warps[kBlock / 32];
    constexpr unsigned count = kThreads / 32;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) warps[warp] = make_float2(s.max, s.sum);
    __syncthreads();
    const float2 pair = lane < count ? warps[warp / count * count + lane] : make_float2(-INFINITY, 0.0f);
    s = group_merge<32>({pair.x, pair.y});
  }
  return s;
}
