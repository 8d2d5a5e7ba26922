// bug: adds a half and truncates, so ties round away from zero
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../int8_row.cuh"

constexpr int kBlock = 256;

__global__ void quantize_half_away(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale,
                                   std::size_t cols) {
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  unsigned greatest = 0;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) greatest = max(greatest, magnitude(x[c]));
  const float row_scale = scale_of(block_max<kBlock>(greatest));
  if (threadIdx.x == 0) scale[blockIdx.x] = row_scale;

  const bool finite = row_scale > 0.0f && row_scale < INFINITY;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) {
    const float t = finite ? x[c] / row_scale : 0.0f;
    q[c] = static_cast<std::int8_t>(fminf(fmaxf(t + copysignf(0.5f, t), -127.0f), 127.0f));
  }
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;  // a grid of 0 blocks is an error
  quantize_half_away<<<static_cast<unsigned>(rows), kBlock>>>(x, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Quantize, launch);
