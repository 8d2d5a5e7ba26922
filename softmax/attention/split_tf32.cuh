// 3xTF32: FP32 products from TF32 products, whose operands have 11 significant bits, not 24. With x = big + small, both
// TF32, a b = big big + big small + small big; small small is left out.
// In units of u = 2^-24 such a product is off by 28: 16 for small small, because small < 2^-10 x, and 6 for each small,
// because TF32 keeps 11 of its 13 bits. An mma.sync onto a sum loses 20, 2.5 per product (tensor_core_error.hpp). Below
// 2^-115 TF32 keeps fewer bits of small.
#pragma once
#include "tensor_core.cuh"

// The registers of an mma.sync.m16n8k8 operand: 4 for A, 2 for B. small has up to 13 bits; two are truncated.
template <int kRegisters>
struct Split {
  unsigned big[kRegisters], small[kRegisters];
  __device__ void set(int i, float x) {
    big[i] = __float_as_uint(x) & 0xffffe000u;
    small[i] = __float_as_uint(x - __uint_as_float(big[i]));  // exact
  }
};

// Computes sum[x] += a b[x]; the mma.sync of different x overlap. Small products come first, because they lose more
// bits when added to a large sum.
template <int kTiles>
__device__ inline void multiply(float (&sum)[kTiles][4], const Split<4>& a, const Split<2> (&b)[kTiles]) {
#pragma unroll
  for (int x = 0; x < kTiles; ++x) mma_m16n8k8_tf32(sum[x], a.small, b[x].big[0], b[x].big[1]);
#pragma unroll
  for (int x = 0; x < kTiles; ++x) mma_m16n8k8_tf32(sum[x], a.big, b[x].small[0], b[x].small[1]);
#pragma unroll
  for (int x = 0; x < kTiles; ++x) mma_m16n8k8_tf32(sum[x], a.big, b[x].big[0], b[x].big[1]);
}
