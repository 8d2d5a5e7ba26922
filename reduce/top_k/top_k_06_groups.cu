// Problem:  step 05 reads all of the row again, and gives a row, however long, to one warp.
// Idea:     cut the rows into groups of neighbours. One kernel finds each group's maximum, with as many blocks per row
//           as it takes; the next one finds the k groups with the greatest maxima, and reads these alone again.
// Expect:   0.7 to 0.9 of a read at 4096 x 50257, k = 8: 1.08 reads, and no list in the first. 0.5 to 0.65 at one row
//           of 2^24: one block reads 8192 maxima and 32 groups, some 10 us after a read of 22.
// Measured: 2.56x step 05, 0.81 of a read at 4096x50257x8 (H200).
// Why:      0.46 at one row of 2^24 (H200): a read takes 24 us (computed), the whole 52.4. The second kernel's one
//           block takes about half of it.
// Next:     why can no other group have one of the k? (k groups have a maximum that comes before all of its elements.)
#include "row_groups.cuh"

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  launch_in_groups(x, values, indices, rows, cols, k);
}

LADDER_STEP(TopK, launch);
