// bug: a round of selects writes v while it still reads it: the last elements get values that are already rotated
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../registers.cuh"

constexpr int kBlock = 256;

__global__ void registers_in_place(const int* __restrict__ x, int* __restrict__ y, std::size_t n, std::size_t groups) {
  const std::size_t g = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (g >= groups) return;
  int v[kInGroup];
#pragma unroll
  for (int k = 0; k < kInGroup; ++k) v[k] = g + k * groups < n ? x[g + k * groups] : 0;
  const unsigned shift = static_cast<unsigned>(v[0]);
#pragma unroll
  for (int by = 1; by < kInGroup; by *= 2) {
#pragma unroll
    for (int k = 0; k < kInGroup; ++k) v[k] = (shift & by) != 0 ? v[(k + by) % kInGroup] : v[k];  // into a second array
  }
#pragma unroll
  for (int k = 0; k < kInGroup; ++k) {
    if (g + k * groups < n) y[g + k * groups] = v[k];
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const std::size_t groups = ceil_div(n, kInGroup);
  registers_in_place<<<ceil_div(groups, kBlock), kBlock>>>(x, y, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Registers, launch);
