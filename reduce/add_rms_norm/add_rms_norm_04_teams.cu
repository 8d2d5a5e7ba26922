// Problem:  step 03 has 0.05 to 0.45 of a copy at 1 to 200 rows of 400,000 elements and more, and 0.66 at rows of 7222,
//           which are read 4 bytes at a time (one run on an H200).
// Idea:     teams of blocks, and peeled rows: the kernels of layer_norm 10 (norm_teams.cuh, norm_registers.cuh).
// Expect:   0.85 to 0.95 of a copy from 1024 elements on, at any alignment; 4/5 for rows that the GPU does not keep.
// Measured: 0.95x step 03, 0.93 of a copy at 32768x1024 (H200).
// Next:     which of the four arrays must not stay in L2?
#include "add_rms_norm.cuh"
#include "../norm_paths.cuh"

static void launch(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  launch_norm<Norm::add_rms>(x, gamma, gamma, residual, y, rows, cols, epsilon);
}

LADDER_STEP(AddRmsNorm, launch, norm_roundings<Norm::add_rms>);
