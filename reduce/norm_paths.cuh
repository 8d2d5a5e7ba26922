// The kernels that take rows of any length and alignment, for the last two steps of each norm: the launch, and
// the roundings that their bound is made of.
#pragma once
#include "norm_problem.cuh"
#include "norm_registers.cuh"
#include "norm_teams.cuh"
#include "norm_thread_per_row.cuh"
#include "norm_read_twice.cuh"

// beta is gamma, residual y where the norm has none. rows and cols may be 0.
template <Norm kNorm>
void launch_norm(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
                 std::size_t cols, float epsilon) {
  if (rows == 0 || cols == 0) return;
  const NormPath path = norm_path(cols);
  const auto run = path == NormPath::thread                           ? norm_thin::launch<kNorm>
                   : path == NormPath::registers                      ? norm_registers::launch<kNorm>
                   : norm_teams::plan_for<kNorm>(rows, cols).team > 0 ? norm_teams::launch<kNorm>
                                                                      : norm_twice::launch<kNorm>;
  run(x, gamma, beta, residual, y, rows, cols, epsilon);
}

// A thread's row: one chain, two passes. In a team each warp's part is found by two passes; then the warps' parts merge,
// and the blocks', at most three levels. Of a row that is read twice a thread's chunks merge first.
template <Norm kNorm>
std::size_t norm_roundings(std::size_t cols) {
  const NormPath path = norm_path(cols);
  const bool layer = kNorm == Norm::layer;
  if (path == NormPath::thread) return layer ? RowNorm::two_passes(cols) : RowNorm::by_root_mean_square(cols);
  if (path == NormPath::registers) {
    const std::size_t height = norm_registers::height(cols);
    return layer ? RowNorm::parts(height, 1) : RowNorm::by_root_mean_square(height);
  }
  const TeamPlan plan = norm_teams::plan_for<kNorm>(1, cols);
  const std::size_t tree = 5 + 5 + 5;  // a warp's parts are merged by the block, the blocks' by a warp and by the block
  if (plan.team > 0) {
    const std::size_t height = norm_teams::kHeightOfWarp<kNorm> + norm_teams::blocks_of_thread<kNorm>(plan) + tree;
    return layer ? RowNorm::parts(height, 4) : RowNorm::by_root_mean_square(height);
  }
  const std::size_t chunk = norm_twice::height_of_chunk(), chain = norm_twice::merges_of_thread(cols);
  if (!layer) return RowNorm::by_root_mean_square(chunk + chain + 5 + tree);
  return RowNorm::parts(chunk + RowNorm::welford(chain, 0) + 5 + tree, 4);
}
