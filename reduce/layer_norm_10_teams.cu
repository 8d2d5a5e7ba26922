// Problem:  step 09's clusters leave SMs idle, and keep rows of up to 262,144 elements. Of longer rows few blocks read
//           a part twice; rows off 16 bytes are read 4 bytes at a time.
// Idea:     a team of blocks anywhere on the GPU takes a row (norm_teams.cuh): their parts pass through global memory,
//           so a team may be all blocks. Rows of up to 16,387 elements stay in one block (norm_registers.cuh), peeled.
// Expect:   0.85 to 0.95 of a copy from 1024 elements on, at any alignment; 0.8 for rows that the GPU does not keep.
// Measured: 0.94x step 09, 0.92 of a copy at 32768x1024 (H200).
// Next:     what does a team wait for, and what could it load meanwhile?
#include "layer_norm.cuh"
#include "norm_paths.cuh"

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  launch_norm<Norm::layer>(x, gamma, beta, y, y, rows, cols, epsilon);
}

LADDER_STEP(LayerNorm, launch, norm_roundings<Norm::layer>);
