// The first answer: everything in, then the kernel, then everything home, all in one stream. While data travel the
// multiprocessors idle, while these work the link idles, and at no time are both of its directions in use.
// Expect: the sum of the three times.
// Next question: which of the three can run at the same time? (All: two copy engines, one for each direction, and the
// multiprocessors. So the best is the longest of the three instead of their sum.)
#include "overlap.cuh"

static void launch(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  copy_in(x, z, n, nullptr);
  work(z, n, nullptr);
  copy_out(z, y, n, nullptr);
}

LADDER_STEP(Overlap, launch);
