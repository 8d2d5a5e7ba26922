// bug: clamps only the first of two neighbours: the last column reads the next row, the last row reads past the image
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../sample.cuh"

__global__ void sample_second_unclamped(const float* __restrict__ in, float* __restrict__ out, int rows_in, int cols_in,
                                        int rows_out, int cols_out) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows_out || col >= cols_out) return;
  const double y = (row + 0.5) * rows_in / rows_out - 0.5;
  const double x = (col + 0.5) * cols_in / cols_out - 0.5;
  const int top = static_cast<int>(floor(y)), left = static_cast<int>(floor(x));
  const float wy = static_cast<float>(y - top), wx = static_cast<float>(x - left);
  const float* upper = in + static_cast<long long>(max(top, 0)) * cols_in;
  const float* lower = in + static_cast<long long>(top + 1) * cols_in;
  const int right = left + 1;
  out[static_cast<long long>(row) * cols_out + col] = (1 - wy) * ((1 - wx) * upper[max(left, 0)] + wx * upper[right]) +
                                                      wy * ((1 - wx) * lower[max(left, 0)] + wx * lower[right]);
}

static void launch(const float* in, float* out, std::size_t rows_in, std::size_t cols_in, std::size_t rows_out,
                   std::size_t cols_out) {
  if (rows_out == 0 || cols_out == 0) return;
  const dim3 block(32, 8), grid(ceil_div(cols_out, 32), ceil_div(rows_out, 8));
  sample_second_unclamped<<<grid, block>>>(in, out, static_cast<int>(rows_in), static_cast<int>(cols_in),
                                           static_cast<int>(rows_out), static_cast<int>(cols_out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sample, launch, Sampling::exact);
