// Problem:  step 08 uses the FFMA units about as well as it can. mma.sync multiplies TF32 at 5 times their rate, but
//           TF32 has 11 significant bits, and FP32 has 24.
// Idea:     3xTF32: x = big + small, both TF32, and a b = big big + big small + small big; 2^-20 of it is left out. A
//           warp owns 16 queries; the scores' accumulators become the first operand of the second product.
// Expect:   1.3 to 1.8x step 08. mma.sync alone allows 106 TFLOP/s, a third of its TF32 rate, and 10 to 13 other
//           instructions share the issue slots with each three of them.
// Measured: 1.40x step 08, 57.6 TFLOP/s at 64x2048x2048 (H200).
// Next:     a decoder asks one query of each head. What do these tiles do then?
// needs: sm_80
#include "attention_3xtf32.cuh"

LADDER_STEP(Attention, three_tf32::launch, three_tf32::roundings);
