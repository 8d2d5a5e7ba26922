// Problem:  the stream of step 01 displaces parts of the table.
// Idea:     __ldcs and __stcs: x and y are loaded and stored as data to be evicted first.
// Expect:   1.0x step 01 with 8 MB; 1.05 to 1.3x with 32 and 48 MB, if more of the table now stays.
// Measured: 1.05x step 01, 0.27 of a copy at m=12582912 (H200); 1.02x, 0.22 (H100).
// Why:      1.09x with 32 MB, 1.05x with 48 MB (H200).
// Next:     what if the streaming kernel isn't yours, or the table should also survive the next kernel?
#include "l2_window.cuh"

__global__ void l2_evict_first(const float* __restrict__ x, const float* __restrict__ table, float* __restrict__ y,
                               std::size_t n, std::size_t m) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) __stcs(&y[i], __ldcs(&x[i]) + table[slot(i, m)]);
}

static void launch(const float* x, const float* table, float* y, std::size_t n, std::size_t m) {
  if (n == 0) return;
  l2_evict_first<<<ceil_div(n, 256), 256>>>(x, table, y, n, m);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(L2Window, launch);
