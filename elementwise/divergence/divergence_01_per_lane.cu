// Problem:  even and odd elements take different code of equal cost, so neighbouring lanes take different branches.
// Idea:     the simplest form: thread i computes element i.
// Expect:   half of step 03's rate: every warp runs both branches, one after the other, with half of its lanes.
// Measured: 0.07 of a copy at 2^24 (H200); 0.09 (H100).
// Next:     what if the first half of each warp took one branch, the second half the other?
#include "divergence.cuh"

__global__ void divergence_per_lane(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto v = static_cast<unsigned>(x[i]);
  if (i % 2 == 0) {
    y[i] = static_cast<int>(even_kind(v));
  } else {
    y[i] = static_cast<int>(odd_kind(v));
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  divergence_per_lane<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Divergence, launch);
