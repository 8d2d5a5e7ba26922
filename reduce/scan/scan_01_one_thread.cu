// Problem:  each result is the previous one plus an element. Taken literally, that is a chain of n additions.
// Idea:     one thread, one loop.
// Expect:   20 to 60 clocks per element: a load takes 40 to 260 from L1 or L2. 131 of 132 SMs idle.
// Why: 76 clocks at 2^20, 50 if x is in L2 from an earlier run (H200, computed).
// Next:     how can two threads share the chain? (Sums of pieces do not depend on each other.)
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
