// Problem:  step 02 reads x twice.
// Idea:     a tile that one block's registers hold: 8 columns, one sector of each row, and 1024 threads x 32 elements
//           for 4096 rows. The maximum is known before the first exp, so there is one exp per element.
// Expect:   1.3 to 2x step 02 up to 4096 rows: one read less. Less beyond: no registers are left for loads in flight.
// Measured: 1.84x step 02, 0.60 of a copy at 4096x4096 (H200); 1.74x, 0.70 (H100).
// Next:     how can a tile be 32 columns wide and still stay on the chip?
#include "col_softmax.cuh"
#include "../online_softmax.cuh"

constexpr unsigned kColumns = 8, kBlock = 1024;
constexpr unsigned kKept = 32;                 // elements per thread in registers
constexpr unsigned kRows = kBlock / kColumns;  // rows that the block reads at once
constexpr unsigned kWarps = kBlock / 32;

// Return the maximum and the sum over lanes `step` apart, a power of two, to each of them. All 32 lanes must call them.
__device__ static float lanes_max(float v, unsigned step) {
  for (unsigned offset = 16; offset >= step; offset /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}
__device__ static float lanes_sum(float v, unsigned step) {
  for (unsigned offset = 16; offset >= step; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

__global__ void __launch_bounds__(kBlock, 1)
    col_softmax_registers(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols) {
  __shared__ MaxSum pairs[kColumns][kWarps + 1], totals[kColumns];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = threadIdx.x % kColumns;
  const std::size_t first = threadIdx.x / kColumns, col = std::size_t{blockIdx.x} * kColumns + column;
  const std::size_t end = col < cols ? rows : 0;  // no return: all threads must reach the barriers
  // rows of this thread, and how many of them stay in registers
  const std::size_t count = first < end ? (end - first - 1) / kRows + 1 : 0, stride = kRows * cols;
  const unsigned in_registers = static_cast<unsigned>(min(count, std::size_t{kKept}));
  x += first * cols + col;
  y += first * cols + col;

  // load: 32 independent loads; the remainder by the online rule
  float v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = k < in_registers ? x[k * stride] : -INFINITY;
  MaxSum remainder = {-INFINITY, 0.0f};
  for (std::size_t k = kKept; k < count; ++k) remainder = merge(remainder, {x[k * stride], 1.0f});

  // reduce over the warp: the maximum first, then one exp per element
  float max = remainder.max;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, v[k]);
  max = lanes_max(max, kColumns);
  float sum = remainder.sum * expf(remainder.max - shift_for(max));
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += v[k] = expf(v[k] - shift_for(max));
  sum = lanes_sum(sum, kColumns);

  // merge the warps: warp c merges column c
  if (lane < kColumns) pairs[column][warp] = {max, sum};
  __syncthreads();
  if (warp < kColumns) {
    const MaxSum pair = pairs[warp][lane];
    const float total_max = lanes_max(pair.max, 1);
    const float total = lanes_sum(pair.sum * expf(pair.max - shift_for(total_max)), 1);
    if (lane == 0) totals[warp] = {total_max, total};
  }
  __syncthreads();
  const MaxSum s = totals[column];

  // store
  const float factor = expf(max - s.max) / s.sum;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    if (k < in_registers) y[k * stride] = v[k] * factor;
  }
  for (std::size_t k = kKept; k < count; ++k) y[k * stride] = expf(x[k * stride] - s.max) / s.sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  col_softmax_registers<<<static_cast<unsigned>(ceil_div(cols, kColumns)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: 2 exps, division, product. Denominator: exp and additions of what is held; 6 per merge of the remainder;
// over lanes and over warps exp, product and additions.
static std::size_t roundings(std::size_t rows) {
  const std::size_t remainder = rows - std::min<std::size_t>(rows, kKept * kRows);
  return 10 + 4 + kKept + 6 * ceil_div(remainder, kRows) + 5 + 2 + 5 + 5;
}

LADDER_STEP(ColSoftmax, launch, roundings);
