// Problem:  of 2^28 floats step 05 keeps 5 %, and its blocks, which stay for the barrier, are slower than a copy.
// Idea:     two kernels again, each the best of its kind: one that only reads, whose last block merges the pairs, and
//           one float4 per thread from the end of x backwards, as L2 still holds that end (two_passes.cuh).
// Expect:   1.05x step 05 at 2^28: a read and a copy at full rate, less 4 % for what L2 holds, are 0.68 of a copy. 0.8x
//           at 2^24, where step 05 reads a third of x twice, and this step all of it.
// Measured: 0.82x step 05, 584x cuDNN at 2^24 (H200); 0.79x, 455x (H100).
// Next:     at which length does one kernel stop paying?
#include "softmax.cuh"
#include "../two_passes.cuh"

static void launch(const float* x, float* y, std::size_t n) {
  if (n > 0) two_passes::launch(x, y, n);
}

LADDER_STEP(Softmax, launch, two_passes::roundings);
