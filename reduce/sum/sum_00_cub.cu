// The library: cub::DeviceReduce::Sum. The first call returns the size of its temporary storage; the second one runs.
// needs: gpu
#include "sum.cuh"

#include <cub/device/device_reduce.cuh>

static void launch(const float* x, float* out, std::size_t n) {
  std::size_t bytes = 0;
  CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, x, out, n));
  CUDA_CHECK(cub::DeviceReduce::Sum(scratch<unsigned char>(bytes), bytes, x, out, n));
}

// CUB specifies no order, so the bound must hold for any order.
LADDER_STEP(Sum, launch, [](std::size_t n) { return n; });
