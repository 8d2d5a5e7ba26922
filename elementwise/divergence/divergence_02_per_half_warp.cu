// Problem:  in step 01 the lanes of a branch are scattered over the warp.
// Idea:     sort within the warp: lanes 0 to 15 take the even ones of its 32 elements, lanes 16 to 31 the odd ones.
// Expect:   1.0x step 01: an instruction is issued for the whole warp, whichever lanes are active.
// Measured: 0.99x step 01, 0.07 of a copy at 2^24 (H200); 0.99x, 0.09 (H100).
// Next:     how far must the kinds be sorted?
#include "divergence.cuh"

constexpr int kUnit = 32;  // threads, and their elements: half take the even ones, half the odd ones

__global__ void divergence_per_half_warp(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t place = thread % kUnit, odd = place / (kUnit / 2);
  const std::size_t i = thread - place + 2 * (place % (kUnit / 2)) + odd;
  if (i >= n) return;
  const auto v = static_cast<unsigned>(x[i]);
  if (odd == 0) {
    y[i] = static_cast<int>(even_kind(v));
  } else {
    y[i] = static_cast<int>(odd_kind(v));
  }
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  // whole units of threads: any thread of the last unit may have an element
  divergence_per_half_warp<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Divergence, launch);
