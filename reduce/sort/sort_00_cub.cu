// The library: cub::DeviceRadixSort. The first call returns the size of its temporary storage; the second one runs.
// needs: gpu
#include "sort.cuh"

#include <cub/device/device_radix_sort.cuh>

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  std::size_t bytes = 0;
  const auto sort = [&](void* storage) {
    // a 32-bit count: with a 64-bit count CUB uses smaller tiles
    return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, keys_out, values, values_out,
                                           static_cast<unsigned>(n));
  };
  CUDA_CHECK(sort(nullptr));
  CUDA_CHECK(sort(scratch<unsigned char>(bytes)));
}

LADDER_STEP(Sort, launch);
