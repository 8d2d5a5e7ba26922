// bug: every element is stored at the next position, kept or not, and nothing overwrites those after the last kept one
// caught by: cpu forward | is wrong: got
// caught by: gpu | is wrong: got
// stage: right
#include "../compact.cuh"

__global__ void compact_writes_beyond_count(const float* __restrict__ x, float* __restrict__ out, std::int64_t* count,
                                            std::size_t n) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out[to] = x[i];
    to += x[i] > 0.0f;
  }
  *count = static_cast<std::int64_t>(to);
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  compact_writes_beyond_count<<<1, 1>>>(x, out, count, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch);
