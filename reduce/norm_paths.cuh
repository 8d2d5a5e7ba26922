// The three kernels that take rows of any length and alignment, for the last two steps of each norm: the launch, and
// the roundings that their bound is made of.
#pragma once
#include "layer_norm.cuh"
#include "norm_registers.cuh"
#include "norm_teams.cuh"
#include "norm_thin.cuh"

// beta is gamma, residual y where the norm has none. rows and cols may be 0.
template <Norm kNorm>
void launch_norm(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
                 std::size_t cols, float epsilon) {
  if (rows == 0 || cols == 0) return;
  const NormPath path = norm_path(cols);
  const auto run = path == NormPath::thread      ? norm_thin::launch<kNorm>
                   : path == NormPath::registers ? norm_registers::launch<kNorm>
                                                 : norm_teams::launch<kNorm>;
  run(x, gamma, beta, residual, y, rows, cols, epsilon);
}

// A thread's row: one chain, two passes. In a team what a warp keeps is found by two passes, what it reads again by
// Chan's merges; then the warps' parts merge, and the blocks', at most three levels.
template <Norm kNorm>
std::size_t norm_roundings(std::size_t cols) {
  const NormPath path = norm_path(cols);
  const bool layer = kNorm == Norm::layer;
  if (path == NormPath::thread) return layer ? LayerNorm::two_passes(cols) : RowNorm::by_root_mean_square(cols);
  if (path == NormPath::registers) {
    const std::size_t height = norm_registers::height(cols);
    return layer ? LayerNorm::parts(height, 1) : RowNorm::by_root_mean_square(height);
  }
  const norm_teams::Heights h = norm_teams::heights<kNorm>(cols);
  if (!layer) return RowNorm::by_root_mean_square(h.kept + h.rest + h.blocks + 5 + 5 + 5 + 5);
  return LayerNorm::parts(std::max(h.kept, LayerNorm::welford(4 + h.rest, 5)) + h.blocks + 15, 4);
}
