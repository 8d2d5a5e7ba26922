// Problem:  at aligned rows of 1024 to 32,768 elements that fill half of step 03's layout, or more, step 04 has 0.90 to
//           0.98 of its rate: step 03's loads need no bounds of edges.
// Idea:     both, picked by length and alignment, as in layer_norm 11 (norm_path_by_shape in norm_shapes.hpp).
// Expect:   1.02 to 1.11x step 04 at aligned rows, as step 03; step 04's rate elsewhere.
// Measured: 1.07x step 04, 0.98 of a copy at 32768x1024 (H200); 1.03x, 1.00 (H100).
// Next:     a framework pads rows to aligned lengths: what does it save, and what does it cost?
// needs: sm_90
#include "../norm_paths.cuh"
#include "../rms_by_shape.cuh"
#include "rms_norm.cuh"

static void launch(const float* x, const float* gamma, float* y, std::size_t rows, std::size_t cols, float epsilon) {
  const bool aligned = aligned_for<float4>(x, gamma, y) && cols % 4 == 0;
  const std::size_t least = least_of_rms_norm(pick(rms_shapes<false>(), cols).longest());
  if (norm_path_by_shape(cols, aligned, least) == NormPath::by_shape) {
    launch_rms<false>(x, gamma, nullptr, y, rows, cols, epsilon);
  } else {
    launch_norm<Norm::rms>(x, gamma, gamma, y, y, rows, cols, epsilon);
  }
}

// Of either kernel: alignment decides.
static std::size_t roundings(std::size_t cols) {
  return std::max(RmsNorm::by_root_mean_square(rms_height(cols)), norm_roundings<Norm::rms>(cols));
}

LADDER_STEP(RmsNorm, launch, roundings);
