// Problem:  step 09's clusters leave SMs idle, and keep rows of up to 262,144 elements. Of longer rows few blocks read
//           a part twice; rows off 16 bytes are read 4 bytes at a time.
// Idea:     a team of blocks anywhere takes a row (norm_teams.cuh): parts pass through global memory, and the next row
//           loads while they do. Up to 16,387 elements one block does (norm_registers.cuh), peeled.
// Expect:   0.85 to 0.95 of a copy from 1024 elements on, at any alignment; 2/3 for rows that the GPU does not keep.
// Measured: 0.94x step 09, 0.92 of a copy at 32768x1024 (H200); 0.97x, 0.97 (H100).
// Why:      0.84 of a copy at 1024 x 131072 (H200), and less where a team is the whole GPU: every row waits for its
//           slowest block (hypothesis, not tested).
// Next:     gamma and beta of a row that the whole GPU just keeps: where are they when the next row needs them?
#include "layer_norm.cuh"
#include "../norm_paths.cuh"

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  launch_norm<Norm::layer>(x, gamma, beta, y, y, rows, cols, epsilon);
}

LADDER_STEP(LayerNorm, launch, norm_roundings<Norm::layer>);
