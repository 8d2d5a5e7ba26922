// bug: the test is !(x <= 0) instead of x > 0, so NaN is kept
// caught by: cpu forward | special data
// caught by: cpu-asan forward | special data
// caught by: gpu | special data
// stage: right
#include "../compact.cuh"

__global__ void compact_nan_kept(const float* __restrict__ x, float* __restrict__ out, std::int64_t* count,
                                 std::size_t n) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!(x[i] <= 0.0f)) out[to++] = x[i];
  }
  *count = static_cast<std::int64_t>(to);
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  compact_nan_kept<<<1, 1>>>(x, out, count, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch);
