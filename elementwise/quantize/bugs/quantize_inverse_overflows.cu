// bug: 1 / scale is infinite for a scale below 2^-128, and so is each element's quotient: all values are 127 or -127
// caught by: cpu forward | subnormal data
// caught by: cpu-asan forward | subnormal data
// caught by: gpu | subnormal data
// stage: right
#include "../int8_row.cuh"

constexpr int kBlock = 256;

__global__ void quantize_inverse(const float* __restrict__ x, std::int8_t* __restrict__ q, float* __restrict__ scale,
                                 std::size_t cols) {
  x += blockIdx.x * cols;
  q += blockIdx.x * cols;
  unsigned greatest = 0;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) greatest = max(greatest, magnitude(x[c]));
  const float row_scale = scale_of(block_max<kBlock>(greatest));
  if (threadIdx.x == 0) scale[blockIdx.x] = row_scale;

  const float inverse = row_scale > 0.0f && row_scale < INFINITY ? 1.0f / row_scale : 0.0f;
  for (std::size_t c = threadIdx.x; c < cols; c += kBlock) {
    q[c] = static_cast<std::int8_t>(max(-127, min(127, __float2int_rn(x[c] * inverse))));
  }
}

static void launch(const float* x, std::int8_t* q, float* scale, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;  // a grid of 0 blocks is an error
  quantize_inverse<<<static_cast<unsigned>(rows), kBlock>>>(x, q, scale, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Quantize, launch);
