// Problem:  at aligned rows of 128 to 32,768 elements that fill step 08's layout, step 10 has 0.90 to 0.98 of its rate:
//           step 08's loads need no bounds of edges, and it gives two rows one load of gamma and beta.
// Idea:     both: a rule (norm_path_by_shape in norm_shapes.hpp) picks by length and alignment. Aligned rows that fill
//           3/4 of step 08's layout take its kernel, others those of step 10: a thread per row, registers, a team.
// Expect:   1.02 to 1.11x step 10 at aligned rows that fill a layout, as step 08; step 10's rate elsewhere.
// Measured: 1.07x step 10, 0.98 of a copy at 32768x1024 (H200); 1.03x, 1.00 (H100).
// Next:     what does the rule cost? (Nothing on the GPU: the host picks, as a library does.)
// needs: sm_90
#include "layer_by_shape.cuh"
#include "../norm_paths.cuh"

static void launch(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows, std::size_t cols,
                   float epsilon) {
  const bool aligned = aligned_for<float4>(x, gamma, beta, y) && cols % 4 == 0;
  const std::size_t least = least_of_layer_norm(pick(layer_shapes(), cols).longest());
  if (norm_path_by_shape(cols, aligned, least) == NormPath::by_shape) {
    launch_layer_by_shape(x, gamma, beta, y, rows, cols, epsilon);
  } else {
    launch_norm<Norm::layer>(x, gamma, beta, y, y, rows, cols, epsilon);
  }
}

// Of either kernel: alignment decides.
static std::size_t roundings(std::size_t cols) {
  return std::max(layer_by_shape_roundings(cols), norm_roundings<Norm::layer>(cols));
}

LADDER_STEP(LayerNorm, launch, roundings);
