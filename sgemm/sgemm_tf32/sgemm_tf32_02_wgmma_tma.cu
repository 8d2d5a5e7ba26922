// Problem:  of TF32, wgmma reads from shared memory only what is consecutive along k. Rows of A are, columns of B not.
// Idea:     C^T = B^T A^T. wgmma's first operand may be in registers: threads read B's elements from the tile as they
//           like. Copies, roles of the warps and clusters are those of gemm_bf16's step 05.
// Expect:   0.95 to 1.0x cuBLAS, which has to do the same. Shared memory moves 128 bytes a clock; wgmma's operand, B's
//           elements and TMA's writes take all of them.
// Measured: 20x step 01, 1.00x cuBLAS at 4096 (H200); 20x, 0.99x (H100).
// Next:     how do you get FP32's accuracy from TF32 products? (A = big + small, and three products of the parts.)
// needs: sm_90a
#include "../with_tma.cuh"
#include "wgmma_tf32_specialised.cuh"  // the kernel

using SgemmTf32Tma = WithTma<SgemmTf32, float>;
LADDER_STEP(SgemmTf32Tma, launch_wgmma_tf32<false>);
