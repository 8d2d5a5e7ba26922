// Rows of at most kThinCols elements, for the last steps of the norms: a thread per row. A block's rows are one span of
// memory, which passes through shared memory, so that loads and stores are coalesced float4 all the same.
#pragma once
#include "norm_row.cuh"
#include "norm_shapes.hpp"

#include <utility>

namespace norm_thin {

constexpr unsigned kBlock = 256, kFloats = 8 * kBlock;  // two float4 for each thread to load

// Rows of a block: a multiple of 4, so that all blocks' spans start at 16 bytes if x does.
__host__ __device__ constexpr unsigned rows_of_block(unsigned cols) { return kFloats / cols / 4 * 4; }

// A row in shared memory, as aligned as its length allows: then the compiler reads several elements at a time.
template <unsigned kCols>
struct alignas(kCols % 4 == 0   ? 16
               : kCols % 2 == 0 ? 8
                                : 4) Row {
  float at[kCols];
};

template <Norm kNorm, unsigned kCols>
__global__ void __launch_bounds__(kBlock)
    norm_thread_per_row(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                        float* __restrict__ residual, float* __restrict__ y, std::size_t rows, float epsilon) {
  __shared__ float4 span[kFloats / 4];
  float* const floats = reinterpret_cast<float*>(span);
  const std::size_t first = std::size_t{blockIdx.x} * rows_of_block(kCols);
  const auto own = static_cast<unsigned>(min(rows - first, std::size_t{rows_of_block(kCols)}));
  x += first * kCols;
  y += first * kCols;
  if (kNorm == Norm::add_rms) residual += first * kCols;
  const unsigned tid = threadIdx.x, count = own * kCols, units = alike(x, nullptr) ? count / 4 : 0;

  // load; of an x that is not aligned element by element
  const bool same = alike(x, residual);
  for (unsigned i = tid; i < units; i += kBlock) span[i] = load_row<kNorm>(x + 4 * i, residual + 4 * i, same);
  for (unsigned i = 4 * units + tid; i < count; i += kBlock) floats[i] = load_row<kNorm>(x + i, residual + i);
  __syncthreads();

  // a row: mean, squared distances from it, the result
  auto* const all = reinterpret_cast<Row<kCols>*>(span);
  for (unsigned r = tid; r < own; r += kBlock) {
    Row<kCols> row = all[r];
    float mean = 0.0f, squares = 0.0f;
    if constexpr (kNorm == Norm::layer) {
#pragma unroll
      for (unsigned c = 0; c < kCols; ++c) mean += row.at[c];
      mean /= kCols;
    }
#pragma unroll
    for (unsigned c = 0; c < kCols; ++c) squares += (row.at[c] - mean) * (row.at[c] - mean);
    const float factor = rsqrtf(squares / kCols + epsilon);
#pragma unroll
    for (unsigned c = 0; c < kCols; ++c) row.at[c] = normed<kNorm>(row.at[c], mean, factor, gamma + c, beta + c);
    all[r] = row;
  }
  __syncthreads();

  // store
  const bool whole = alike(x, y);
  for (unsigned i = tid; i < units; i += kBlock) store_unit(y + 4 * i, span[i], whole);
  for (unsigned i = 4 * units + tid; i < count; i += kBlock) y[i] = floats[i];
}

using Kernel = void (*)(const float*, const float*, const float*, float*, float*, std::size_t, float);
template <Norm kNorm, unsigned... kLess>
Kernel kernel_of(std::size_t cols, std::integer_sequence<unsigned, kLess...>) {
  static const Kernel kernels[] = {norm_thread_per_row<kNorm, kLess + 1>...};
  return kernels[cols - 1];
}

// cols is 1 to kThinCols; rows is not 0. beta is gamma, residual y where the norm has none.
template <Norm kNorm>
void launch(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
            std::size_t cols, float epsilon) {
  const Kernel kernel = kernel_of<kNorm>(cols, std::make_integer_sequence<unsigned, kThinCols>{});
  const std::size_t grid = ceil_div(rows, std::size_t{rows_of_block(static_cast<unsigned>(cols))});
  kernel<<<static_cast<unsigned>(grid), kBlock>>>(x, gamma, beta, residual, y, rows, epsilon);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace norm_thin
