#include <cuda_runtime.h>

__device__ float mean(float a, float b, float weight) { return (1 - weight) * a + weight * b; }

__global__ void resize(const float* in, float* out, int rows_in, int cols_in, int rows_out, int cols_out, float scale_y,
                       float scale_x) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;  // lanes along the row: stores are coalesced
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows_out || col >= cols_out) return;
  float y = (row + 0.5f) * scale_y - 0.5f;  // pixel centres are at + 0.5
  float x = (col + 0.5f) * scale_x - 0.5f;
  float top = floorf(y), left = floorf(x);  // not a cast: y may be -0.25
  int y0 = max((int)top, 0), y1 = min((int)top + 1, rows_in - 1);
  int x0 = max((int)left, 0), x1 = min((int)left + 1, cols_in - 1);
  const float* a = in + (size_t)y0 * cols_in;
  const float* b = in + (size_t)y1 * cols_in;
  float upper = mean(a[x0], a[x1], x - left);
  float lower = mean(b[x0], b[x1], x - left);
  out[(size_t)row * cols_out + col] = mean(upper, lower, y - top);
}

cudaError_t launch(const float* in, float* out, size_t rows_in, size_t cols_in, size_t rows_out, size_t cols_out) {
  if (rows_out == 0 || cols_out == 0) return cudaSuccess;
  dim3 block(32, 8), grid((unsigned)(cols_out + 31) / 32, (unsigned)(rows_out + 7) / 8);
  float scale_y = (float)rows_in / rows_out, scale_x = (float)cols_in / cols_out;
  resize<<<grid, block>>>(in, out, (int)rows_in, (int)cols_in, (int)rows_out, (int)cols_out, scale_y, scale_x);
  return cudaGetLastError();
}

// The answer ends here. Say while you write it:
// Index i of the result is at (i + 0.5) * scale - 0.5 in the image. If the image is enlarged, this is negative at the
// first pixel: use floor, and clamp each neighbour separately.
// Four loads per pixel, but neighbours share them and L1 serves most: DRAM traffic is the image and the result, once.
// A float coordinate has 24 bits: at x = 8000 the weight keeps 11 of them. Double or integers keep all.
// A texture with linear filtering does all this in one fetch, with 8-bit weights.
// Shrinking by more than 2 skips pixels: then average an area instead.

// The rest is for the checks.
#include "sample.cuh"
#include "whiteboard.cuh"

LADDER_STEP(Sample, checked<launch>);
