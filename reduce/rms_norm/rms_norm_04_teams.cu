// Problem:  step 03 reads rows of more than 524,288 elements twice, by few blocks, and rows off 16 bytes by 4 bytes.
// Idea:     teams of blocks, and peeled rows: the kernels of layer_norm 10 (norm_teams.cuh, norm_registers.cuh).
// Expect:   0.85 to 0.95 of a copy from 1024 elements on, at any alignment; 2/3 for rows that the GPU does not keep.
// Measured: 0.94x step 03, 0.92 of a copy at 32768x1024 (H200); 0.97x, 0.97 (H100).
// Next:     how would a team's sum be the same in every run, whoever comes first? (It is: each block adds all parts.)
#include "rms_norm.cuh"
#include "../norm_paths.cuh"

static void launch(const float* x, const float* gamma, float* y, std::size_t rows, std::size_t cols, float epsilon) {
  launch_norm<Norm::rms>(x, gamma, gamma, y, y, rows, cols, epsilon);
}

LADDER_STEP(RmsNorm, launch, norm_roundings<Norm::rms>);
