// 3xTF32: FP32 products from the tensor core's TF32 ones. TF32 has 11 significant bits, FP32 has 24: split each number,
// x = big + small, both TF32, and a b = big big + big small + small big. Left out is small small.
//
// The error, in units of u = 2^-24: a product of split numbers is off by 28, of which 16 for small small, as small is
// less than 2^-10 of its number, and 6 for each small, of whose 13 bits TF32 keeps 11. An mma.sync onto a sum loses 20,
// 2.5 for each of its 8 products (tensor_core_error.hpp). Below 2^-115 TF32 has fewer bits for small.
#pragma once
#include "tensor_core.cuh"

// Registers of an operand of mma.sync.m16n8k8: 4 of A, 2 of B. small has up to 13 bits; the tensor core cuts off two.
template <int kRegisters>
struct Split {
  unsigned big[kRegisters], small[kRegisters];
  __device__ void set(int i, float x) {
    big[i] = __float_as_uint(x) & 0xffffe000u;
    small[i] = __float_as_uint(x - __uint_as_float(big[i]));  // exact
  }
};

// sum[x] += a b[x] for each x; with four of them each mma.sync has three others to run beside. The small products come
// first: beside a large sum an mma.sync cuts off more of them.
template <int kTiles>
__device__ inline void multiply(float (&sum)[kTiles][4], const Split<4>& a, const Split<2> (&b)[kTiles]) {
#pragma unroll
  for (int x = 0; x < kTiles; ++x) mma_m16n8k8_tf32(sum[x], a.small, b[x].big[0], b[x].big[1]);
#pragma unroll
  for (int x = 0; x < kTiles; ++x) mma_m16n8k8_tf32(sum[x], a.big, b[x].small[0], b[x].small[1]);
#pragma unroll
  for (int x = 0; x < kTiles; ++x) mma_m16n8k8_tf32(sum[x], a.big, b[x].big[0], b[x].big[1]);
}
