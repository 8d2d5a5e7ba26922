// Problem:  in step 06 a row of 1024 is eight groups: for k = 8 all of it is read again. In step 05 each of some ten
//           elements at the bound costs a sort and a merge, 46 shuffles, of which an SM does one per clock.
// Idea:     rows of up to 2048 stay in the registers of a warp: bound first, and what is not below waits in shared
//           memory. Each of these few goes to the place that says how many are greater. Longer rows in groups.
// Expect:   0.5 to 0.8 of a read at 65536 x 1024, k = 8: 600 instructions per row instead of 4600. Step 06 beyond.
// Measured: 1.00x step 06, 0.81 of a read at 4096x50257x8 (H200).
// Next:     k = 1000? (Lists and bounds end at what a warp holds: then radix select, step 04, or a sort.)
#include "row_of_warp.cuh"

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  launch_by_length(x, values, indices, rows, cols, k);
}

LADDER_STEP(TopK, launch);
