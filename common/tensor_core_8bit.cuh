// mma.sync on 8-bit operands, for sm_80 and newer. Sections are those of the PTX ISA manual, version 9.0.
#pragma once
#include "tensor_core.cuh"

#ifndef CUDA_EMU  // the CPU backend's tensor_core.hpp has the same functions

// mma.sync.m16n8k32 on int8, section 9.7.14.5.10: d += a b, d is 16 x 8 in int32, a 16 x 32 and b 32 x 8. With
// g = lane / 4 and t = lane % 4, d as in mma_m16n8k16_bf16, a lane holds
//   a[0]: row g, columns 4 t to 4 t + 3;  a[1]: of row g + 8;  a[2], a[3]: the same 16 columns to the right
//   b0: rows 4 t to 4 t + 3 of column g;  b1: 16 rows below
// The element with the lowest index is in the lowest byte. These are the bytes that ldmatrix gives a lane of tiles with
// 16 bytes of k per row. A sum that overflows wraps.
__device__ __forceinline__ void mma_m16n8k32_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same on e4m3, for sm_89 and newer; d is FP32. Ada's sum keeps 14 bits of a float's 24. For sm_90 ptxas converts a
// and b to FP16 and multiplies these (common/emulator/tests/fp8.cu).
__device__ __forceinline__ void mma_m16n8k32_e4m3(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
