// The error of a sum on tensor cores with FP32 accumulators.
#pragma once
#include "problem.hpp"

// C + A B of k products: |error| <= tensor_core_gamma(k) (|A| |B| + |C|), if alpha and beta are applied in FP32.
//
// A tensor core multiplies exactly and adds n products and the accumulator at once: n is 4 on a V100, 8 on an A100, and
// more since. It aligns all terms to the largest one, cuts each off behind the 24 bits of a float (or a few bits later),
// and cuts the sum off, too, instead of rounding it to the nearest (Fasi, Higham, Mikaitis and Pranesh, Numerical
// behavior of NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021). Each cut loses at most 2 u of the largest
// number so far, which |A| |B| bounds: n terms, all but the largest, and the sum lose (n + 1) 2 u for n products. With
// n >= 4 that is at most 2.5 u per product, and 2.5 u more for a last group that is not full. Products added one by one
// in FP32 lose less. Two more roundings each for alpha times the sum, the addition of beta C, and sums of parts of k.
// Slices of k end where a group of n products ends, and to add a slice's sum loses u more: a slice has at least 32
// products, of which GPUs that run such kernels (sm_80 and later, n >= 8) lose 2.25 u each, not 2.5.
inline double tensor_core_gamma(std::size_t k) {
  const double u = ladder::kUnitRoundoff, lost = (2.5 * static_cast<double>(k) + 6) * u;
  return lost < 0.01 ? lost / (1 - lost) : lost;
}
