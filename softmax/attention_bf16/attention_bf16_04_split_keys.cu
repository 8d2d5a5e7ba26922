// Problem:  a decoder asks one query of each head, of a long cache of keys. A block of step 03 is for 192 queries, or
//           128 at d = 128, and 8 heads are 8 blocks, for 132 SMs.
// Idea:     flash decoding, as in attention 10, by mma.sync: a warp for 16 queries and a part of the keys. Its
//           fragments come straight from memory, 16 bytes at a time. A second kernel merges the parts.
// Expect:   K and V at 0.8 to 0.9 of a read's rate, for 1 query as for 16. 15 to 20x step 03 at 8 heads of 16 queries
//           and 100,003 keys; where queries are many, half of step 03's rate or less.
// Measured: 0.32x step 03, 137 TFLOP/s at 64x2048x2048 (H200).
// Why:      that is many queries. 8 heads of 16, 100,003 keys: 0.76 of a copy, 16.5x step 03 (H200).
// Next:     which kernel for which shape?
// needs: sm_80
#include "attention_bf16_parts.cuh"

LADDER_STEP(AttentionBf16, bf16_parts::launch, bf16_parts::roundings);
