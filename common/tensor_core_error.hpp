// The error of a sum on tensor cores with FP32 accumulators.
#pragma once
#include "problem.hpp"

// For C + A B with sums of k products: |error| <= tensor_core_gamma(k) (|A| |B| + |C|), if alpha and beta are applied
// in FP32.
//
// A tensor core multiplies exactly, and adds n products and the accumulator at once: n is 4 on a V100, 8 on an A100,
// and more on later GPUs. It aligns all terms to the largest one, truncates each after the 24 bits of a float (or a few
// bits later), and truncates the sum, too (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor
// cores, PeerJ Computer Science 7:e330, 2021). Each truncation loses at most 2 u of the largest number so far, which
// |A| |B| bounds. For n products these are n terms, all but the largest, and the sum: (n + 1) 2 u. With n >= 4 that is
// at most 2.5 u per product, and 2.5 u more for a partly filled last group. Products added one by one in FP32 lose
// less. The product with alpha, the addition of beta C, and sums of slices of k add two roundings each. Slices of k end
// where a group of n products ends. Adding a slice's sum loses u more, but a slice has at least 32 products, and GPUs
// that run such kernels (sm_80 and later, n >= 8) lose 2.25 u per product, not 2.5.
inline double tensor_core_gamma(std::size_t k) {
  const double u = ladder::kUnitRoundoff, lost = (2.5 * static_cast<double>(k) + 6) * u;
  return lost < 0.01 ? lost / (1 - lost) : lost;
}
