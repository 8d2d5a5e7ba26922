// The library: cudnnSoftmaxForward for a single vector.
// needs: gpu
// links: cudnn
#include "softmax.cuh"
#include "../cudnn_softmax.cuh"

static void launch(const float* x, float* y, std::size_t n) {
  if (n > 0) cudnn_softmax(1, n, 1, x, y, CUDNN_SOFTMAX_MODE_INSTANCE);
}

LADDER_STEP(OfInts<ForCudnn<Softmax>>, launch, cudnn_roundings);
