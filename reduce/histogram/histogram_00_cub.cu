// The library: cub::DeviceHistogram. The first call returns the size of its temporary storage; the second one runs.
// needs: gpu
#include "histogram.cuh"

#include <cub/device/device_histogram.cuh>

static void launch(const std::uint8_t* x, int* counts, std::size_t n) {
  // One row of n bytes: CUB 3.0 counts in int below a row stride of 2^31 - 1, and the last tile's end may exceed that.
  constexpr std::size_t most = std::numeric_limits<int>::max(), tile = 1 << 20;
  const std::size_t stride = n > most - tile ? most : n;
  std::size_t bytes = 0;
  const auto histogram = [&](void* storage) {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, x, counts, kBins + 1, 0, kBins,
                                               static_cast<std::int64_t>(n), std::int64_t{1}, stride);
  };
  CUDA_CHECK(histogram(nullptr));
  CUDA_CHECK(histogram(scratch<unsigned char>(bytes)));
}

LADDER_STEP(Histogram, launch);
