// bug: blocks without elements return before they store a partial sum, so the second kernel adds garbage
// caught by: cpu forward | out[0] of 1 is wrong: got nan
// caught by: gpu initcheck | Uninitialized __global__ memory read | --n=1025
// stage: right
#include "../sum.cuh"
#include "block_reduce.cuh"

constexpr int kBlock = 256;
constexpr unsigned kGrid = 64;

__global__ void sum_partials_never_written(const float* __restrict__ x, float* __restrict__ partials, std::size_t n) {
  if (std::size_t{blockIdx.x} * kBlock >= n) return;  // partials[blockIdx.x] must be 0 then
  float sum = 0.0f;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += std::size_t{gridDim.x} * kBlock) {
    sum += x[i];
  }
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

static void launch(const float* x, float* out, std::size_t n) {
  if (n == 0) {
    CUDA_CHECK(cudaMemset(out, 0, sizeof(float)));
    return;
  }
  float* partials = scratch<float, struct PartialsNeverWritten>(kGrid);
  sum_partials_never_written<<<kGrid, kBlock>>>(x, partials, n);
  CUDA_CHECK(cudaGetLastError());
  sum_partials_never_written<<<1, kBlock>>>(partials, out, kGrid);
  CUDA_CHECK(cudaGetLastError());
}

// Per launch: the chain of a thread and 5 + 3 levels of tree.
static std::size_t height(std::size_t n) { return ceil_div(n, kGrid * kBlock) + 8 + 1 + 8; }

LADDER_STEP(Sum, launch, height);
