#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

// Say: one thread per output, neighbouring lanes along a row. First, what value does padding have? -infinity for the
// maximum; with 0, windows of negative pixels at the border would give 0. Is the mean over k * k pixels, or over those
// inside? Here over those inside, and 0 if there are none.
// Say: the window is clipped once, so the loops need no test. Overlaps hit L1.
// Next: rows in registers, several outputs per thread; k and stride at compile time give more loads in flight.
__global__ void pool2d(const float* __restrict__ in, float* __restrict__ out, size_t planes, int rows, int cols,
                       int out_rows, int out_cols, int k, int stride, int padding, bool mean) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  // Say: gridDim.y is at most 65535, so rows are numbered through all planes, and the grid strides over them
  for (size_t n = 8 * blockIdx.y + threadIdx.y; n < planes * out_rows && col < out_cols; n += 8 * gridDim.y) {
    const size_t plane = n / out_rows;
    const int top = int(n % out_rows) * stride - padding, left = col * stride - padding;
    const int r0 = max(top, 0), r1 = min(top + k, rows), c0 = max(left, 0), c1 = min(left + k, cols);
    float v = mean ? 0.0f : -INFINITY;
    for (int r = r0; r < r1; ++r)
      for (int c = c0; c < c1; ++c) {
        const float x = in[(plane * rows + r) * cols + c];
        v = mean ? v + x : v > x || isnan(v) ? v : x;  // Say: fmaxf would drop NaN
      }
    // Say: a window entirely in the padding has no pixels; max avoids 0 / 0
    out[n * out_cols + col] = mean ? v / max((r1 - r0) * (c1 - c0), 1) : v;
  }
}

cudaError_t launch(const float* in, float* out, size_t planes, size_t rows, size_t cols, int k, int stride, int padding,
                   bool mean) {
  const auto outputs = [=](long long n) { return n + 2 * padding < k ? 0 : int((n + 2 * padding - k) / stride + 1); };
  const int out_rows = outputs(rows), out_cols = outputs(cols);
  if (planes == 0 || out_rows == 0 || out_cols == 0) return cudaSuccess;  // a grid of 0 blocks is an error
  const dim3 block(32, 8), grid((out_cols + 31) / 32, unsigned(std::min<size_t>((planes * out_rows + 7) / 8, 65535)));
  pool2d<<<grid, block>>>(in, out, planes, int(rows), int(cols), out_rows, out_cols, k, stride, padding, mean);
  return cudaGetLastError();
}

// The answer ends here; the rest is for the checks.
#include "pool2d.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Pool2d, checked<launch>);
