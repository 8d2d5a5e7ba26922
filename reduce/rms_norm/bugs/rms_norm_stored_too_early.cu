// bug: threads normalise one row each in shared memory, then store neighbours without a barrier in between, so
// elements are stored before they are computed
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between | --rows=300 --cols=4
// caught by: gpu racecheck | hazard | --rows=300 --cols=4
// stage: races and barriers
#include "../rms_norm.cuh"

constexpr unsigned kBlock = 128, kMostCols = 64;

__global__ void __launch_bounds__(kBlock)
    rms_norm_stored_too_early(const float* __restrict__ x, const float* __restrict__ gamma, float* __restrict__ y,
                              std::size_t rows, unsigned cols, float epsilon) {
  __shared__ float span[kBlock * kMostCols];
  const std::size_t first = std::size_t{blockIdx.x} * kBlock;
  const auto own = static_cast<unsigned>(min(rows - first, std::size_t{kBlock}));
  x += first * cols;
  y += first * cols;
  for (unsigned i = threadIdx.x; i < own * cols; i += kBlock) span[i] = x[i];
  __syncthreads();

  if (threadIdx.x < own) {
    float* const row = span + threadIdx.x * cols;
    float squares = 0.0f;
    for (unsigned c = 0; c < cols; ++c) squares += row[c] * row[c];
    const float factor = rsqrtf(squares / cols + epsilon);
    for (unsigned c = 0; c < cols; ++c) row[c] *= factor * gamma[c];
  }
  // __syncthreads() is needed here

  for (unsigned i = threadIdx.x; i < own * cols; i += kBlock) y[i] = span[i];
}

// For rows that do not fit in shared memory.
__global__ void rms_norm_long_row(const float* __restrict__ x, const float* __restrict__ gamma, float* __restrict__ y,
                                  std::size_t rows, std::size_t cols, float epsilon) {
  const std::size_t row = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (row >= rows) return;
  float squares = 0.0f;
  for (std::size_t c = 0; c < cols; ++c) squares += x[row * cols + c] * x[row * cols + c];
  const float factor = rsqrtf(squares / cols + epsilon);
  for (std::size_t c = 0; c < cols; ++c) y[row * cols + c] = x[row * cols + c] * factor * gamma[c];
}

static void launch(const float* x, const float* gamma, float* y, std::size_t rows, std::size_t cols, float epsilon) {
  if (rows == 0 || cols == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, std::size_t{kBlock}));
  if (cols <= kMostCols) {
    rms_norm_stored_too_early<<<grid, kBlock>>>(x, gamma, y, rows, static_cast<unsigned>(cols), epsilon);
  } else {
    rms_norm_long_row<<<grid, kBlock>>>(x, gamma, y, rows, cols, epsilon);
  }
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RmsNorm, launch);
