// bug: each row permutes its elements by XOR, against bank conflicts; of 12 elements 4 are left out
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../cross_entropy.cuh"
#include "../../online_softmax.cuh"

constexpr unsigned kBlock = 128, kLongest = 16;

// One thread per row of a tile in shared memory. Longer rows are read from global memory.
__global__ void cross_entropy_order_past_the_end(const float* __restrict__ x, const int* __restrict__ target,
                                                 float* __restrict__ loss, std::size_t rows, std::size_t cols) {
  __shared__ float tile[kBlock * kLongest];
  const std::size_t first = std::size_t{blockIdx.x} * kBlock, row = first + threadIdx.x;
  const std::size_t all = min(rows - first, std::size_t{kBlock}) * cols;
  const bool fits = cols <= kLongest;
  for (std::size_t i = threadIdx.x; fits && i < all; i += kBlock) tile[i] = x[first * cols + i];
  __syncthreads();
  if (row >= rows) return;
  const float* const from = fits ? tile + threadIdx.x * cols : x + row * cols;
  const unsigned turn = threadIdx.x / 2 % kLongest;  // not below the greatest power of two that divides cols
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t k = 0; k < cols; ++k) {
    const std::size_t j = fits ? k ^ turn : k;
    if (j < cols) s = merge(s, {from[j], 1.0f});
  }
  const int t = target[row];
  const bool known = t >= 0 && static_cast<std::size_t>(t) < cols;
  loss[row] = known ? logf(s.sum) - (from[t] - s.max) : NAN;
}

static void launch(const float* x, const int* target, float* loss, std::size_t rows, std::size_t cols) {
  if (rows == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, std::size_t{kBlock}));
  cross_entropy_order_past_the_end<<<grid, kBlock>>>(x, target, loss, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(CrossEntropy, launch);
