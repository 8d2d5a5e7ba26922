// cudaMemcpyAsync, device to device: the library's copy, for any size and alignment.
// needs: gpu
#include "copy.cuh"

static void launch(const float* x, float* y, std::size_t n) {
  CUDA_CHECK(cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice));
}

LADDER_STEP(Copy, launch);
