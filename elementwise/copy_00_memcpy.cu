// The yardstick: cudaMemcpyAsync, device to device. It copies bytes, so size and alignment are its own worry.
// needs: gpu
#include "copy.cuh"

static void launch(const float* x, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice));
}

LADDER_STEP(Copy, launch);
