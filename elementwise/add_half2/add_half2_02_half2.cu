// Problem:  a thread of step 01 has 4 bytes of loads in flight and fills half of each 32-bit register.
// Idea:     half2: one load and one addition for two halves. It needs 4-byte alignment; an odd n leaves one element.
// Expect:   1.8 to 2.0x step 01, for twice the bytes in flight: as many as add_01 has.
// Measured: 1.61x step 01, 0.80 of a copy at 2^28 (H200); 1.40x, 0.91 (H100).
// Why:      latency grows with the load: from 830 to 1190 ns (H100), from 770 to 960 ns (H200).
// Next:     how much of the gain comes from HADD2, which adds two halves at once?
#include "add_half2.cuh"

__global__ void add_half2_pairs(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                std::size_t n, bool aligned) {
  const std::size_t i = 2 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (aligned && i + 2 <= n) {
    const __half2 u = *reinterpret_cast<const __half2*>(a + i);
    const __half2 v = *reinterpret_cast<const __half2*>(b + i);
    *reinterpret_cast<__half2*>(c + i) = __hadd2(u, v);
  } else {
    for (std::size_t k = i; k < n && k < i + 2; ++k) c[k] = __hadd(a[k], b[k]);
  }
}

static void launch(const __half* a, const __half* b, __half* c, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const unsigned grid = ceil_div(n, 2 * block);
  add_half2_pairs<<<grid, block>>>(a, b, c, n, aligned_for<__half2>(a, b, c));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(AddHalf2, launch);
