// bug: no guard for merging two empty lanes, or lanes with only -inf: -inf - -inf is NaN, and so is the whole row
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../row_softmax.cuh"
#include "../../online_softmax.cuh"

constexpr int kBlock = 256;

__device__ static MaxSum merge_unguarded(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max);  // if this is -inf, nothing may be subtracted
  return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

// Merges the warp's pairs and returns the result to every lane. All 32 lanes must call it.
__device__ static MaxSum warp_merge_unguarded(MaxSum v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    v = merge_unguarded(v, {__shfl_xor_sync(0xffffffff, v.max, offset), __shfl_xor_sync(0xffffffff, v.sum, offset)});
  }
  return v;
}

__global__ void row_softmax_inf_minus_inf(const float* __restrict__ x, float* __restrict__ y, std::size_t rows,
                                          std::size_t cols) {
  const int lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and no block barrier follows
  x += row * cols;
  y += row * cols;

  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t j = lane; j < cols; j += 32) s = merge_unguarded(s, {x[j], 1.0f});
  s = warp_merge_unguarded(s);

  for (std::size_t j = lane; j < cols; j += 32) y[j] = expf(x[j] - s.max) / s.sum;
}

static void launch(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  row_softmax_inf_minus_inf<<<static_cast<unsigned>(ceil_div(rows, kBlock / 32)), kBlock>>>(x, y, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: exp, product and addition for each merge: those of a lane, then 5.
static std::size_t roundings(std::size_t cols) { return 5 + 6 * (ceil_div(cols, 32) + 5); }

LADDER_STEP(RowSoftmax, launch, roundings);
