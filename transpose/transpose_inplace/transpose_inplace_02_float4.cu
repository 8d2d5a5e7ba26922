// Problem:  step 01 launches twice the blocks it needs, and moves 4 bytes per instruction.
// Idea:     blocks only for the tiles on and above the diagonal: this triangle, cut at half its height and folded, is a
//           rectangle. Tiles of 64 x 64, in float4 where n is a multiple of 4 (transpose_pairs.cuh).
// Expect:   0.85 to 1.0 of a copy where n is a multiple of 4, with eight float4 in flight per thread. Else 1.0 to 1.1x
//           step 01: the tiles' edges cut sectors, and transpose_10's shift fits only one of two mirror images.
// Measured: 1.32x step 01, 0.93 of a copy at 8192 (H200); 1.11x, 0.94 (H100).
// Next:     what would help where rows begin anywhere in a sector?
#include "transpose_pairs.cuh"

static void launch(float* a, std::size_t n) {
  if (n == 0) return;
  if (n % 4 == 0 && aligned_for<float4>(a)) {
    transpose_pairs::launch_float4<false>(a, n);
  } else {
    transpose_pairs::launch_scalar(a, n);
  }
}

LADDER_STEP(TransposeInplace, launch);
