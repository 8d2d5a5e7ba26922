// The library: cudnnSoftmaxForward over the rows, in the mode that is faster at that length (measured on an H100).
// cuDNN's sizes are ints, so large matrices are processed in pieces.
// needs: gpu
// links: cudnn
#include "row_softmax.cuh"
#include "../cudnn_softmax.cuh"

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto mode = cols <= 2048 ? CUDNN_SOFTMAX_MODE_CHANNEL : CUDNN_SOFTMAX_MODE_INSTANCE;
  const std::size_t piece = std::max<std::size_t>(1, (std::size_t{1} << 30) / cols);
  for (std::size_t i = 0; i < rows; i += piece) {
    cudnn_softmax(std::min(piece, rows - i), cols, 1, x + i * cols, y + i * cols, mode);
  }
}

LADDER_STEP(ForCudnn<RowSoftmax>, launch, cudnn_roundings);
