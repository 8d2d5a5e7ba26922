// A transpose for any shape: step 11, or thin tiles where a tile of 96 rows x 64 columns would be mostly empty.
#include "../transpose_11_shifted_tiles.cu"
#include "any_shape.cuh"
#include "thin.cuh"

static bool is_thin(const MatrixCall& c) { return std::min(c.rows, c.cols) <= transpose_thin::kMostFew; }

static const Candidate<MatrixCall> kCandidates[] = {
    {"tiles", any, run<launch_shifted_tiles>},
    {"thin", is_thin, run<transpose_thin::launch>},
};

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  launch_fastest(kCandidates, MatrixCall{in, out, rows, cols});
}

LADDER_STEP(Transpose, launch);
