// The library: cub::DeviceHistogram. The first call returns the temporary storage it needs, the second one runs.
// needs: gpu
#include "histogram.cuh"

#include <cub/device/device_histogram.cuh>

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  std::size_t bytes = 0;
  const auto histogram = [&](void* storage) {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, x, counts, kBins + 1, 0, kBins, static_cast<int>(n));
  };
  CUDA_CHECK(histogram(nullptr));
  CUDA_CHECK(histogram(scratch<unsigned char>(bytes)));
}

LADDER_STEP(Histogram, launch);
