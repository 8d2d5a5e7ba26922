// bug: __shfl_down_sync in place of a rotation: the last lane gets its own value, not that of lane 0
// caught by: cpu | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../lanes.cuh"

constexpr int kBlock = 256;
constexpr unsigned kAll = 0xffffffff;

__global__ void lanes_shift(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const unsigned lane = threadIdx.x % kGroup;
  const std::size_t left = i - lane < n ? n - (i - lane) : 1;
  const unsigned width = static_cast<unsigned>(left < kGroup ? left : kGroup);
  const bool has_partner = (lane ^ 1) < width;

  unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;
  for (int round = 0; round < kRounds; ++round) {
    const unsigned of_partner = __shfl_xor_sync(kAll, v, 1);
    const unsigned of_next = __shfl_down_sync(kAll, v, 1);  // __shfl_sync(kAll, v, lane + 1 < width ? lane + 1 : 0)
    v = mix(of_next, has_partner ? of_partner : v, __shfl_sync(kAll, v, 0));
  }
  if (i < n) y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  lanes_shift<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lanes, launch);
