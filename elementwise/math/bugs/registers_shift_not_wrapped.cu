// bug: the index k + s runs past the array instead of wrapping: s is reduced mod 32, the sum is not
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../registers.cuh"

constexpr int kBlock = 256;

__global__ void registers_past_the_array(const int* __restrict__ x, int* __restrict__ y, std::size_t n,
                                         std::size_t groups) {
  const std::size_t g = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (g >= groups) return;
  int v[2 * kInGroup];
  for (int k = 0; k < 2 * kInGroup; ++k) v[k] = k < kInGroup && g + k * groups < n ? x[g + k * groups] : 0;
  const unsigned shift = static_cast<unsigned>(v[0]) % kInGroup;
  for (int k = 0; k < kInGroup; ++k) {
    if (g + k * groups < n) y[g + k * groups] = v[k + shift];  // v[(k + shift) % kInGroup]
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  const std::size_t groups = ceil_div(n, kInGroup);
  registers_past_the_array<<<ceil_div(groups, kBlock), kBlock>>>(x, y, n, groups);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Registers, launch);
