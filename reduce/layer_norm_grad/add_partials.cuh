// dgamma and dbeta in two phases: storage for a block's sums, and a kernel that adds the sums of all blocks in a fixed
// order.
#pragma once
#include "cuda_helpers.cuh"

// Slice b of the rows has two rows of partials, 2 b for dgamma and 2 b + 1 for dbeta. Blocks with blockIdx.y = 0 add
// the dgamma rows, the others the dbeta rows. A block has 32 columns, a warp every 32nd row, as in col_sum 02.
static __global__ void layer_norm_grad_add(const float* __restrict__ partials, float* __restrict__ dgamma,
                                           float* __restrict__ dbeta, unsigned slices, std::size_t cols) {
  __shared__ float warps[32][32];
  const std::size_t c = std::size_t{blockIdx.x} * 32 + threadIdx.x;
  float sum = 0.0f;
  if (c < cols) {
#pragma unroll 8
    for (unsigned b = threadIdx.y; b < slices; b += 32) sum += partials[(std::size_t{2} * b + blockIdx.y) * cols + c];
  }
  warps[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || c >= cols) return;
  for (int y = 1; y < 32; ++y) sum += warps[y][threadIdx.x];
  (blockIdx.y == 0 ? dgamma : dbeta)[c] = sum;
}

inline void add_partials(const float* partials, float* dgamma, float* dbeta, std::size_t slices, std::size_t cols) {
  const dim3 grid(static_cast<unsigned>(ceil_div(cols, 32)), 2), block(32, 32);
  layer_norm_grad_add<<<grid, block>>>(partials, dgamma, dbeta, static_cast<unsigned>(slices), cols);
  CUDA_CHECK(cudaGetLastError());
}

// Returns the bytes of shared memory for two sums per column, or 0 if they don't fit beside 1 KB for other sums.
inline std::size_t column_bytes(std::size_t cols) {
  const std::size_t bytes = 2 * cols * sizeof(float);
  return bytes <= device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - std::size_t{1 << 10} ? bytes : 0;
}
