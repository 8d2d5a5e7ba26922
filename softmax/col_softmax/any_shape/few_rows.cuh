// Kernel for at most 64 rows: a thread holds whole columns in registers and waits for no other thread.
#pragma once
#include "../../online_softmax.cuh"

// kColumns columns per thread, kBlock apart, of at most kMost rows.
template <unsigned kMost, unsigned kColumns, unsigned kBlock>
__global__ void __launch_bounds__(kBlock)
    col_softmax_few_rows(const float* __restrict__ x, float* __restrict__ y, unsigned rows, std::size_t cols) {
  const std::size_t first = std::size_t{blockIdx.x} * kColumns * kBlock + threadIdx.x;
  // load
  float v[kColumns][kMost];
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    const std::size_t col = first + c * kBlock;
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k) v[c][k] = k < rows && col < cols ? x[k * cols + col] : -INFINITY;
  }
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    float max = v[c][0], sum = 0.0f;
#pragma unroll
    for (unsigned k = 1; k < kMost; ++k) max = fmaxf(max, v[c][k]);
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k) sum += v[c][k] = expf(v[c][k] - shift_for(max));
    // store
    const float factor = 1.0f / sum;
    const std::size_t col = first + c * kBlock;
#pragma unroll
    for (unsigned k = 0; k < kMost; ++k) {
      if (k < rows && col < cols) __stcs(y + k * cols + col, v[c][k] * factor);
    }
  }
}

constexpr std::size_t kMostRows = 64;

template <unsigned kMost>
void launch_few(const float* x, float* y, std::size_t rows, std::size_t cols) {
  constexpr unsigned block = 256, columns = kMost < 16 ? 16 / kMost : 1;  // 16 loads in flight per thread, or more
  const auto grid = static_cast<unsigned>(ceil_div(cols, std::size_t{block * columns}));
  col_softmax_few_rows<kMost, columns, block><<<grid, block>>>(x, y, static_cast<unsigned>(rows), cols);
  CUDA_CHECK(cudaGetLastError());
}

inline void launch_few_rows(const float* x, float* y, std::size_t rows, std::size_t cols) {
  const auto run = rows == 1 ? launch_few<1> : rows <= 4 ? launch_few<4> : rows <= 16 ? launch_few<16> : launch_few<64>;
  run(x, y, rows, cols);
}

// Numerator: exp, division and product. Denominator: exp, and an addition for each row.
inline std::size_t roundings_few_rows() { return 6 + 4 + kMostRows; }
