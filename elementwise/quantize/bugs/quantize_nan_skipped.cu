// bug: fmaxf returns the operand that is a number, so a row with NaN gets a scale that hides it
// caught by: cpu forward | want nan
// caught by: cpu-asan forward | want nan
// caught by: gpu | want nan
// stage: right
#include "../int8_row.cuh"

constexpr int kBlock = 256;

__global__ void quantize_fmaxf(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale,
                               std::size_t cols) {
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  float most = 0.0f;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) most = fmaxf(most, fabsf(x[c]));
  const float row_scale = scale_of(block_max<kBlock>(magnitude(most)));
  if (threadIdx.x == 0) scale[blockIdx.x] = row_scale;

  const Quantizer quantized(row_scale);
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) q[c] = quantized(x[c]);
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;  // a grid of 0 blocks is an error
  quantize_fmaxf<<<static_cast<unsigned>(rows), kBlock>>>(x, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Quantize, launch);
