// Problem:  step 03 scales coordinates by the image's size, and so must every kernel that reads the image.
// Idea:     normalised coordinates: 0 to 1 across an image of any size. Pixel (r, c) of the result fetches at
//           ((c + 0.5) / cols_out, (r + 0.5) / rows_out). Wrap and mirror addressing need this mode too.
// Expect:   0.98 to 1.02x step 03: the texture unit multiplies by the size, and the kernel multiplies once as before.
// Measured: 1.00x step 03, 0.11 of a copy at 8192x8192x4096x4096 (H200).
// Next:     the copy into the array reads and writes the whole image. How could a kernel write the array itself?
// needs: gpu
#include "filtering_texture.cuh"
#include "sample.cuh"

constexpr int kTileX = 32, kTileY = 8;

__global__ void sample_normalised(cudaTextureObject_t in, float* __restrict__ out, float step_y, float step_x,
                                  int rows_out, int cols_out) {
  const int row = blockIdx.y * kTileY + threadIdx.y;
  const int col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows_out || col >= cols_out) return;
  // the pixel's centre as a fraction of the image, the same in both images
  out[static_cast<long long>(row) * cols_out + col] = tex2D<float>(in, (col + 0.5f) * step_x, (row + 0.5f) * step_y);
}

static void launch(const float* in, float* out, std::size_t rows_in, std::size_t cols_in, std::size_t rows_out,
                   std::size_t cols_out) {
  if (rows_out == 0 || cols_out == 0) return;
  const FilteredArray& image = filtered_array(rows_in, cols_in, true);
  const std::size_t row_bytes = cols_in * sizeof(float);
  CUDA_CHECK(cudaMemcpy2DToArrayAsync(image.array, 0, 0, in, row_bytes, row_bytes, rows_in, cudaMemcpyDeviceToDevice));
  const dim3 block(kTileX, kTileY), grid(ceil_div(cols_out, kTileX), ceil_div(rows_out, kTileY));
  sample_normalised<<<grid, block>>>(image.texture, out, 1 / static_cast<float>(rows_out),
                                     1 / static_cast<float>(cols_out), static_cast<int>(rows_out),
                                     static_cast<int>(cols_out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sample, launch, Sampling::texture);
