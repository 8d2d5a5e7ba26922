// A transpose of any shape: step 11, or where a tile of 64 columns and 96 rows would be nearly empty, tiles of few rows or
// few columns.
#include "../transpose_11_shifted_tiles.cu"
#include "any_shape.cuh"
#include "thin.cuh"

struct MatrixCall {
  const float* in;
  float* out;
  std::size_t rows, cols;
  Shape shape() const { return {rows, cols, alignment(in), alignment(out)}; }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(out, rows * cols, false);
  }
};

static bool is_any(const MatrixCall&) { return true; }
static bool is_thin(const MatrixCall& c) { return std::min(c.rows, c.cols) <= transpose_thin::kMostFew; }

static const Candidate<MatrixCall> kCandidates[] = {
    {"tiles", is_any, [](const MatrixCall& c) { launch_shifted_tiles(c.in, c.out, c.rows, c.cols); }},
    {"thin", is_thin, [](const MatrixCall& c) { transpose_thin::launch(c.in, c.out, c.rows, c.cols); }},
};

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  launch_fastest(kCandidates, MatrixCall{in, out, rows, cols});
}

LADDER_STEP(Transpose, launch);
