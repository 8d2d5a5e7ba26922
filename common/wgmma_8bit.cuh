// wgmma on 8-bit operands. hopper.cuh has it for BF16 and TF32.
#pragma once
#include "hopper.cuh"

// wgmma_wait() for int32 accumulators.
template <int kPending, int kCount>
__device__ inline void wgmma_wait(int (&d)[kCount]) {
  SM90A_ASM("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(d[i])::"memory");
}

#define WGMMA_INT4(d, i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define WGMMA_INT16(d, i) WGMMA_INT4(d, i), WGMMA_INT4(d, i + 4), WGMMA_INT4(d, i + 8), WGMMA_INT4(d, i + 12)
#define WGMMA_INT64(d, i) WGMMA_INT16(d, i), WGMMA_INT16(d, i + 16), WGMMA_INT16(d, i + 32), WGMMA_INT16(d, i + 48)

// d = a b, or d += a b if `accumulate` (9.7.15.5.2), in int32; overflow wraps. The layout of d and the suffixes are
// those of hopper.cuh. 8-bit operands have no _kn: rows of a and b run along k. An instruction takes 32 values of k, 32
// bytes.
__device__ inline void wgmma_m64n256k32_s8_nk(int (&d)[128], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" WGMMA_TEXT_128 "}, %128, %129, p;\n}\n"
      : WGMMA_INT64(d, 0), WGMMA_INT64(d, 64)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// The same on e4m3, with FP32 accumulators. Hopper keeps only 14 bits of each sum (DeepSeek-V3 Technical Report,
// 3.5.2).
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
