// wgmma with 256 columns where both operands have rows along k; the narrower ones are in hopper.cuh.
#pragma once
#include "hopper.cuh"

// Computes d = a b, or d += a b if `accumulate`, as wgmma_m64n128k16_bf16_nk does: 64 x 16 by 16 x 256.
__device__ inline void wgmma_m64n256k16_bf16_nk(float (&d)[128], std::uint64_t a, std::uint64_t b, bool accumulate) {
  SM90A_ASM(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_TEXT_128 "}, %128, %129, p, 1, 1, 0, 0;\n}\n"
      : WGMMA_D128(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
