// bug: a cast to int rounds -0.25 to 0, not to -1: the first weight is negative, and the edge is extrapolated
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../sample.cuh"

__global__ void sample_cast_for_floor(const float* __restrict__ in, float* __restrict__ out, int rows_in, int cols_in,
                                      int rows_out, int cols_out) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows_out || col >= cols_out) return;
  const double y = (row + 0.5) * rows_in / rows_out - 0.5;
  const double x = (col + 0.5) * cols_in / cols_out - 0.5;
  const int top = static_cast<int>(y), left = static_cast<int>(x);  // not floor
  const float wy = static_cast<float>(y - top), wx = static_cast<float>(x - left);
  const float* upper = in + static_cast<long long>(top) * cols_in;
  const float* lower = in + static_cast<long long>(min(top + 1, rows_in - 1)) * cols_in;
  const int right = min(left + 1, cols_in - 1);
  out[static_cast<long long>(row) * cols_out + col] =
      (1 - wy) * ((1 - wx) * upper[left] + wx * upper[right]) + wy * ((1 - wx) * lower[left] + wx * lower[right]);
}

static void launch(const float* in, float* out, std::size_t rows_in, std::size_t cols_in, std::size_t rows_out,
                   std::size_t cols_out) {
  if (rows_out == 0 || cols_out == 0) return;
  const dim3 block(32, 8), grid(ceil_div(cols_out, 32), ceil_div(rows_out, 8));
  sample_cast_for_floor<<<grid, block>>>(in, out, static_cast<int>(rows_in), static_cast<int>(cols_in),
                                         static_cast<int>(rows_out), static_cast<int>(cols_out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sample, launch, Sampling::exact);
