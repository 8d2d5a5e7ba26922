// Problem:  a warp's registers hold a row of 1024; shorter rows leave lanes idle, longer ones are read twice.
// Idea:     the kernel of rms_norm 03, which adds as it loads: threads, blocks and rows at a time by row length.
// Expect:   0.94 to 0.98 of a copy, as rms_norm 03: twice the bytes at twice the time.
// Measured: 1.01x step 02, 0.98 of a copy at 32768x1024 (H200).
// Next:     and if the residual were kept in BF16? (Its rounding then decides, not the norm's.)
// needs: sm_90
#include "add_rms_norm.cuh"
#include "../rms_by_shape.cuh"

static void launch(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  launch_rms<true>(x, gamma, residual, y, rows, cols, epsilon);
}

static std::size_t roundings(std::size_t cols) { return AddRmsNorm::by_root_mean_square(rms_height(cols)); }

LADDER_STEP(AddRmsNorm, launch, roundings);
