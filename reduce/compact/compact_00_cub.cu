// The library: cub::DeviceSelect. The first call returns the size of its temporary storage; the second one runs.
// needs: gpu
#include "compact.cuh"

#include <cub/device/device_select.cuh>

struct IsPositive {
  __device__ bool operator()(float x) const { return x > 0.0f; }
};

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceSelect::If(nullptr, bytes, x, out, count, n, IsPositive{}));
  CUDA_CHECK(cub::DeviceSelect::If(scratch<unsigned char>(bytes), bytes, x, out, count, n, IsPositive{}));
}

LADDER_STEP(Compact, launch);
