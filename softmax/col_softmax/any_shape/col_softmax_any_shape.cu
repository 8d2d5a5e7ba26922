// Columns of any length: a measured choice (any_shape.cuh). All read x once, unless a column is too long to hold.
#include "../col_softmax.cuh"
#include "any_shape.cuh"
#include "column_clusters.cuh"
#include "few_rows.cuh"
#ifndef CUDA_EMU
#include "../col_softmax_04_cluster.cu"
#endif
#include "../col_softmax_05_blocks_per_tile.cu"

static bool have_few_rows(const MatrixCall& call) { return call.rows <= kMostRows; }
#ifndef CUDA_EMU
static bool fit_in_step_04(const MatrixCall& call) {
  return call.rows > 512 && call.rows <= 4096 && call.is_aligned() && has_clusters(8);
}
#endif
static bool fit_in_tile(const MatrixCall& call) {
  return call.rows > kMostRows && call.rows <= kTallest && call.is_aligned() && TileBlocks(call.rows).fit();
}

static const Candidate<MatrixCall> kCandidates[] = {
    {"few_rows", have_few_rows, run<launch_few_rows>},
#ifndef CUDA_EMU
    {"cluster", fit_in_step_04, run<launch_cluster>},
#endif
    {"held", fit_in_tile, run<launch_held>},           {"blocks_32", any, run<launch_blocks_32>},  // columns of a tile
    {"blocks_128", any, run<launch_blocks<128, 512>>}, {"blocks_8", any, run<launch_blocks<8, 256>>},
};

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows > 0 && cols > 0) launch_fastest(kCandidates, MatrixCall{x, y, rows, cols});
}

// The largest bound of all candidates.
static std::size_t roundings(std::size_t rows) {
  std::size_t most = std::max({roundings_few_rows(), roundings_held(), roundings_blocks<32, 512>(rows),
                               roundings_blocks<128, 512>(rows), roundings_blocks<8, 256>(rows)});
#ifndef CUDA_EMU
  most = std::max(most, roundings_cluster(std::min<std::size_t>(rows, 4096)));
#endif
  return most;
}

LADDER_STEP(ColSoftmax, launch, roundings);
