// bug: tests the pointer but not cols: with rows of 5 floats the second row starts at byte 20
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../col_sum.cuh"

constexpr int kBlock = 256;

// One thread per four columns.
__global__ void col_sum_float4_misaligned(const float* __restrict__ x, float* __restrict__ out, std::size_t rows,
                                          std::size_t cols, bool aligned) {
  const std::size_t column = 4 * (std::size_t{blockIdx.x} * kBlock + threadIdx.x);
  if (aligned && column + 4 <= cols) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (std::size_t r = 0; r < rows; ++r) {
      const float4 v = *reinterpret_cast<const float4*>(x + r * cols + column);
      sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
    }
    *reinterpret_cast<float4*>(out + column) = sum;
  } else {
    for (std::size_t c = column; c < min(column + 4, cols); ++c) {
      float sum = 0.0f;
      for (std::size_t r = 0; r < rows; ++r) sum += x[r * cols + c];
      out[c] = sum;
    }
  }
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(cols, 4 * kBlock));
  col_sum_float4_misaligned<<<blocks, kBlock>>>(x, out, rows, cols, aligned_for<float4>(x, out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(ColSum, launch);
