// Problem:  step 04's warpgroups wait for each other, and for C's stores; each SM loads all that it reads.
// Idea:     a warp of its own asks for copies, tile after tile. One block per SM stays, and two warpgroups multiply and
//           store by TMA. Two SMs, a cluster, share a tile of B: TMA's multicast brings each half to both.
// Expect:   1.0x cuBLAS: the loop keeps the tensor cores busy but for 3 % of the time at 4096, where 512 tiles meet 132
//           SMs, and some 2 % for the first and the last tile.
// Measured: 1.38x step 04, 1.01x cuBLAS at 4096 (H200); 1.37x, 1.01x (H100).
// Next:     512 tiles on 132 SMs: the last of 4 rounds is not full. What would you do? (Split k of the last tiles.)
// needs: sm_90a
#include "../with_tma.cuh"
#include "wgmma_specialised.cuh"  // the kernel

using GemmBf16Tma = WithTma<GemmBf16, __nv_bfloat16, true>;
LADDER_STEP(GemmBf16Tma, launch_specialised<false>);
