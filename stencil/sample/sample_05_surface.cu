// Problem:  steps 03 and 04 copy the image into the array: one more read and write of every pixel.
// Idea:     a surface is an array that a kernel can write. The first kernel resizes along the rows in float, into it.
//           The second reads it as a texture, filtered down the columns.
// Expect:   3 to 5x step 04 at 8192x8192x4096x4096: the array has half as many pixels, and a kernel's surface writes
//           are faster than the copy. 1.0 to 1.2x where the image is enlarged and the array has twice as many.
// Measured: 3.73x step 04, 0.43 of a copy at 8192x8192x4096x4096 (H200).
// Next:     a mipmap halves an image repeatedly. Which of its levels is a texture, and which a surface, and when?
// needs: gpu
#include "filtering_texture.cuh"
#include "sample.cuh"

constexpr int kTileX = 32, kTileY = 8;

// Resizes along the rows, to rows_in x cols_out pixels. The x of surf2Dwrite is in bytes; no pitch is needed.
__global__ void sample_rows(const float* __restrict__ in, cudaSurfaceObject_t wide, float scale_x, int rows_in,
                            int cols_in, int cols_out) {
  const int row = blockIdx.y * kTileY + threadIdx.y;
  const int col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows_in || col >= cols_out) return;
  const float x = (col + 0.5f) * scale_x - 0.5f;
  const int left = static_cast<int>(floorf(x));
  const float* from = in + static_cast<long long>(row) * cols_in;
  const float a = from[min(max(left, 0), cols_in - 1)], b = from[min(left + 1, cols_in - 1)], weight = x - left;
  surf2Dwrite((1 - weight) * a + weight * b, wide, col * static_cast<int>(sizeof(float)), row);
}

// Resizes down the columns. x is a texel's centre, where the filter's weights along x are 0 and 1.
__global__ void sample_columns(cudaTextureObject_t wide, float* __restrict__ out, float scale_y, int rows_out,
                               int cols_out) {
  const int row = blockIdx.y * kTileY + threadIdx.y;
  const int col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows_out || col >= cols_out) return;
  out[static_cast<long long>(row) * cols_out + col] = tex2D<float>(wide, col + 0.5f, (row + 0.5f) * scale_y);
}

static void launch(const float* in, float* out, std::size_t rows_in, std::size_t cols_in, std::size_t rows_out,
                   std::size_t cols_out) {
  if (rows_out == 0 || cols_out == 0) return;
  const FilteredArray& wide = filtered_array(rows_in, cols_out);
  const int in_rows = static_cast<int>(rows_in), in_cols = static_cast<int>(cols_in);
  const int out_rows = static_cast<int>(rows_out), out_cols = static_cast<int>(cols_out);
  const dim3 block(kTileX, kTileY);
  sample_rows<<<dim3(ceil_div(out_cols, kTileX), ceil_div(in_rows, kTileY)), block>>>(
      in, wide.surface, static_cast<float>(in_cols) / static_cast<float>(out_cols), in_rows, in_cols, out_cols);
  CUDA_CHECK(cudaGetLastError());
  sample_columns<<<dim3(ceil_div(out_cols, kTileX), ceil_div(out_rows, kTileY)), block>>>(
      wide.texture, out, static_cast<float>(in_rows) / static_cast<float>(out_rows), out_rows, out_cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sample, launch, Sampling::texture);
