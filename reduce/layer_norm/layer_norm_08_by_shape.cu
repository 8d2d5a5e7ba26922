// Problem:  steps 03, 06 and 07 are each the fastest at other row lengths, and each row loads all of gamma and beta:
//           from L1 that is cheap, from L2 it triples the loads.
// Idea:     one kernel with threads, blocks and rows at a time as parameters. A rule picks them by row length, so that
//           rows stay on the chip, and where registers allow two rows share each load of gamma and beta.
// Expect:   0.94 to 0.98 of a copy; less at 131072, where 1024 rows take clusters of blocks, which wait for each other.
// Measured: 2.65x step 07, 0.98 of a copy at 32768x1024 (H200); 2.03x, 1.00 (H100).
// Next:     why are the warps' means not simply averaged? (Their numbers of elements differ.)
// needs: sm_90
#include "layer_by_shape.cuh"

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  launch_layer_by_shape(x, gamma, beta, y, rows, cols, epsilon);
}

static std::size_t roundings(std::size_t cols) { return layer_by_shape_roundings(cols); }

LADDER_STEP(LayerNorm, launch, roundings);
