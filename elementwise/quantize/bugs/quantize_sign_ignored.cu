// bug: the largest element sets the scale, not the largest magnitude: in a row of -3 to 1, -3 becomes -381, then -127
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../int8_row.cuh"

constexpr int kBlock = 256;

__global__ void quantize_greatest(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale,
                                  std::size_t cols) {
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  unsigned greatest = 0;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) greatest = max(greatest, x[c] < 0.0f ? 0 : magnitude(x[c]));
  const float row_scale = scale_of(block_max<kBlock>(greatest));
  if (threadIdx.x == 0) scale[blockIdx.x] = row_scale;

  const Quantizer quantized(row_scale);
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) q[c] = quantized(x[c]);
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;  // a grid of 0 blocks is an error
  quantize_greatest<<<static_cast<unsigned>(rows), kBlock>>>(x, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Quantize, launch);
