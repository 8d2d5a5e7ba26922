// Problem:  each result is the one before plus an element: a chain of n additions as the formula reads.
// Idea:     one thread, one loop.
// Expect:   20 to 60 clocks per element: a load that hits L1 or L2 takes 40 to 260 clocks, and of the 132 SMs 131 idle.
//           The additions themselves are 4 clocks each.
// Why:      75 clocks at 2^20, 50 where x is in L2 from the run before (H200; computed from the time and the clock).
// Next:     the chain is in the formula. How can two threads share it? (Sums of pieces do not depend on each other.)
#include "scan.cuh"

__global__ void scan_one_thread(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < n; ++i) {
    const float before = sum;
    sum += x[i];
    out[i] = exclusive ? before : sum;
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  scan_one_thread<<<1, 1>>>(x, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Scan, launch, any_order, /*timed=*/std::size_t{1} << 20);
