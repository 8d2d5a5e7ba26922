// Problem:  at aligned rows of up to 32,768 elements that fill half of step 03's layout step 04 has 0.87 to 0.99 of its
//           rate: step 03's loads need no bounds of edges.
// Idea:     both, picked by length and alignment, as in layer_norm 11 (norm_path_by_shape in norm_shapes.hpp).
// Expect:   1.01 to 1.15x step 04 at such rows, as step 03; step 04's rate elsewhere.
// Measured: 1.06x step 04, 0.98 of a copy at 32768x1024 (H200).
// Next:     which of the two kernels would you keep if you may keep one, and at which shapes would it hurt?
// needs: sm_90
#include "add_rms_norm.cuh"
#include "../norm_paths.cuh"
#include "../rms_by_shape.cuh"

static void launch(const float* x, const float* gamma, float* residual, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  const bool aligned = aligned_for<float4>(x, gamma, residual, y) && cols % 4 == 0;
  const std::size_t least = least_of_rms_norm(pick(rms_shapes<true>(), cols).longest());
  if (norm_path_by_shape(cols, aligned, least) == NormPath::by_shape) {
    launch_rms<true>(x, gamma, residual, y, rows, cols, epsilon);
  } else {
    launch_norm<Norm::add_rms>(x, gamma, gamma, residual, y, rows, cols, epsilon);
  }
}

// Of either kernel: alignment decides.
static std::size_t roundings(std::size_t cols) {
  return std::max(AddRmsNorm::by_root_mean_square(rms_height(cols)), norm_roundings<Norm::add_rms>(cols));
}

LADDER_STEP(AddRmsNorm, launch, roundings);
