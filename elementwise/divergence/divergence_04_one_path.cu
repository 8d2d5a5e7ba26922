// Problem:  step 03 needs strided accesses, and real data aren't sorted as neatly as even and odd.
// Idea:     no branch: both kinds run the same code, and each lane holds its shift amounts in registers.
// Expect:   0.7 to 1.0x step 03, whose left shifts by constants are multiplications, in a separate pipe.
// Measured: 0.67x step 03, 0.09 of a copy at 2^24 (H200); 0.67x, 0.12 (H100).
// Why:      384 instructions in the integer pipe instead of 256 (SASS): 256 / 384 = 0.67.
// Next:     what if the kinds have no code in common?
#include "divergence.cuh"

__global__ void divergence_one_path(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const bool odd = i % 2 == 1;
  const int a = odd ? 5 : 13, b = odd ? 9 : 17, c = odd ? 7 : 5;
  auto v = static_cast<unsigned>(x[i]);
  for (int round = 0; round < kRounds; ++round) {
    v ^= v << a;
    v ^= v >> b;
    v ^= v << c;
  }
  y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  divergence_one_path<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Divergence, launch);
