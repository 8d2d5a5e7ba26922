// Problem:  step 02 spends four loads, six shared-memory reads and nine FLOP on a pixel.
// Idea:     cudaFilterModeLinear: the texture unit clamps, loads and interpolates with 8-bit weights. The image is
//           copied into an array, whose layout keeps neighbours close in both directions.
// Expect:   0.4 to 0.7x step 02 at 4096x4096x8192x8192: a fetch per pixel is as fast as four loads that hit L1, and the
//           copy is extra. Much less where the image is reduced: there is more to copy than to fetch.
// Measured: 0.54x step 02, 0.22 of a copy at 4096x4096x8192x8192 (H200).
// Next:     the kernel needs the image's size only to scale coordinates. What else knows the size?
// needs: gpu
#include "filtering_texture.cuh"
#include "sample.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void sample_array_filter(cudaTextureObject_t in, float* __restrict__ out, float scale_y, float scale_x,
                                    int rows_out, int cols_out) {
  const int row = blockIdx.y * kTileY + threadIdx.y;
  const int col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows_out || col >= cols_out) return;
  // the texture's + 0.5 for centres cancels the problem's - 0.5
  out[static_cast<long long>(row) * cols_out + col] = tex2D<float>(in, (col + 0.5f) * scale_x, (row + 0.5f) * scale_y);
}

static void launch(const float* in, float* out, std::size_t rows_in, std::size_t cols_in, std::size_t rows_out,
                   std::size_t cols_out) {
  if (rows_out == 0 || cols_out == 0) return;
  const FilteredArray& image = filtered_array(rows_in, cols_in);
  const std::size_t row_bytes = cols_in * sizeof(float);
  CUDA_CHECK(cudaMemcpy2DToArrayAsync(image.array, 0, 0, in, row_bytes, row_bytes, rows_in, cudaMemcpyDeviceToDevice));
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols_out, kTileX), ceil_div(rows_out, kTileY));
  sample_array_filter<<<grid, block>>>(image.texture, out, static_cast<float>(rows_in) / static_cast<float>(rows_out),
                                       static_cast<float>(cols_in) / static_cast<float>(cols_out),
                                       static_cast<int>(rows_out), static_cast<int>(cols_out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sample, launch, Sampling::texture);
