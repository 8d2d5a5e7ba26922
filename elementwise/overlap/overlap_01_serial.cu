// Problem:  the data are in pinned host memory: copy in, compute, copy out.
// Idea:     everything in one stream, one after the other.
// Expect:   the sum of the three times. The SMs idle during copies, the link during the kernel.
// Measured: 0.46 of the link at 2^26 (H200); 0.50 (H100).
// Next:     which of the three can run at the same time?
#include "overlap.cuh"

static void launch(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  copy_in(x, z, n, nullptr);
  work(z, n, nullptr);
  copy_out(z, y, n, nullptr);
}

LADDER_STEP(Overlap, launch);
