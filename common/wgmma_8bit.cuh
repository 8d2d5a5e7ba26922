// wgmma on 8-bit operands: what hopper.cuh has for BF16 and TF32.
#pragma once
#include "hopper.cuh"

// As wgmma_wait() there, of sums in int32.
template <int kPending, int kCount>
__device__ inline void wgmma_wait(int (&d)[kCount]) {
  SM90A_ASM("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

#define WGMMA_INT4(d, i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define WGMMA_INT16(d, i) WGMMA_INT4(d, i), WGMMA_INT4(d, i + 4), WGMMA_INT4(d, i + 8), WGMMA_INT4(d, i + 12)
#define WGMMA_INT64(d, i) WGMMA_INT16(d, i), WGMMA_INT16(d, i + 16), WGMMA_INT16(d, i + 32), WGMMA_INT16(d, i + 48)

// d = a b, or d += a b where `accumulate` (9.7.15.5.2), in int32; a sum that overflows wraps. Places of d and the end of
// the name are as in hopper.cuh. In 8 bits wgmma knows no _kn: k is contiguous in the rows of a and of b, 32 per
// instruction, which are 32 bytes as BF16's 16 are.
__device__ inline void wgmma_m64n256k32_s8_nk(int (&d)[128], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" WGMMA_TEXT_128 "}, %128, %129, p;\n}\n"
      : WGMMA_INT64(d, 0), WGMMA_INT64(d, 64)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// The same on e4m3, in FP32; of these sums Hopper keeps 14 bits of a float's 24 (DeepSeek-V3 Technical Report, 3.5.2).
__device__ inline void wgmma_m64n256k32_e4m3_nk(float (&d)[128], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {" WGMMA_TEXT_128 "}, %128, %129, p, 1, 1;\n}\n"
      : WGMMA_D128(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void wgmma_m64n128k32_e4m3_nk(float (&d)[64], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {" WGMMA_TEXT_64 "}, %64, %65, p, 1, 1;\n}\n"
      : WGMMA_D64(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
