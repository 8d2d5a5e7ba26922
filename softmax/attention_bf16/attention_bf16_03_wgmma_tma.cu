// Problem:  step 02's warps load every fragment of K and V from shared memory, and products wait for their own exps.
// Idea:     flash attention 3. TMA brings K and V; a block's two or three warpgroups multiply 64 rows each by wgmma, in
//           turns: the exps of one run while the tensor cores multiply for another. The block takes tile after tile.
// Expect:   350 to 450 TFLOP/s at d = 64 and 480 to 600 at 128 on an H200, 0.8 to 1.0x cuDNN: at d = 64 the exps take as
//           long as the products.
// Measured: 1.47x step 02, 432 TFLOP/s at 64x2048x2048 (H200).
// Next:     a decoder asks one query of each head. What do these tiles do then?
// needs: sm_90a
#include "attention_bf16_wgmma.cuh"

LADDER_STEP(AttentionBf16Tma, wgmma_tma::launch, tile_roundings);
