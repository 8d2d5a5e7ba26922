// The library: cudnnSoftmaxForward over the channels of one image. The rows are its channels.
// needs: gpu
// links: cudnn
#include "col_softmax.cuh"
#include "../cudnn_softmax.cuh"

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows > 0 && cols > 0) cudnn_softmax(1, rows, cols, x, y, CUDNN_SOFTMAX_MODE_CHANNEL);
}

LADDER_STEP(OfInts<ForCudnn<ColSoftmax>>, launch, cudnn_roundings);
