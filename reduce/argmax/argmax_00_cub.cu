// The library: cub::DeviceReduce::ArgMax. Of equal maxima it returns the first index. It specifies no result for NaN,
// so data with NaN are not tested.
// needs: gpu
#include "argmax.cuh"

#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  if (n == 0) {
    CUDA_CHECK(cudaMemsetAsync(out, 0xff, sizeof *out));  // -1
    return;
  }
  std::size_t bytes = 0;
#if CUB_VERSION >= 300000
  const auto count = static_cast<std::int64_t>(n);
  float* greatest = scratch<float>(1);
  CUDA_CHECK(cub::DeviceReduce::ArgMax(nullptr, bytes, x, greatest, out, count));
  CUDA_CHECK(cub::DeviceReduce::ArgMax(scratch<unsigned char>(bytes), bytes, x, greatest, out, count));
#else
  using Pair = cub::KeyValuePair<int, float>;  // the index is an int, so n must be below 2^31
  Pair* pair = scratch<Pair>(1);
  const auto count = static_cast<int>(n);
  CUDA_CHECK(cub::DeviceReduce::ArgMax(nullptr, bytes, x, pair, count));
  CUDA_CHECK(cub::DeviceReduce::ArgMax(scratch<unsigned char>(bytes), bytes, x, pair, count));
  CUDA_CHECK(cudaMemsetAsync(out, 0, sizeof *out));
  CUDA_CHECK(cudaMemcpyAsync(out, &pair->key, sizeof(int), cudaMemcpyDeviceToDevice));
#endif
}

LADDER_STEP(Argmax, launch, /*keeps_nan=*/false);
