// Operands of mma.sync from what a lane has loaded.
#pragma once
#include "eight_columns.cuh"

// Halves x of eight in a and in b: a's below b's.
__device__ inline unsigned pair_of(const uint4& a, const uint4& b, int x) {
  const unsigned as[] = {a.x, a.y, a.z, a.w}, bs[] = {b.x, b.y, b.z, b.w};
  return __byte_perm(as[x / 2], bs[x / 2], x % 2 == 0 ? 0x5410 : 0x7632);
}

// first and second as sums of three BF16 numbers, exactly: each takes the next 8 bits of 24.
__device__ inline void split(unsigned (&parts)[3], float first, float second) {
#pragma unroll
  for (unsigned& part : parts) {
    const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
    part = reinterpret_cast<const unsigned&>(both);
    first -= low(part);
    second -= high(part);
  }
}
