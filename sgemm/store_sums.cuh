// How a warp stores sums that it has in shared memory: neighbouring lanes store neighbours, so that sectors are written
// whole. Accumulators of mma.sync and wgmma have four lanes to a row.
#pragma once
#include <cstddef>

// A warp stores `rows` rows, of 16, of `cols` sums, of WN: c = alpha sums + beta c. A lane has kElements neighbours,
// which it stores at once where all are inside.
template <int WN>
constexpr int kSumsPitch = WN + 8;
template <int WN, int kElements, typename T>
__device__ inline void store_sums(const float* sums, T* c, long long ld, int rows, int cols, float alpha, float beta) {
  constexpr int kLanes = WN / kElements, kRowsAtOnce = 32 / kLanes;
  static_assert(WN % kElements == 0 && 32 % kLanes == 0, "whole rows at a time");
  struct alignas(kElements * sizeof(T)) Elements {
    T of[kElements];
  };
  const int lane = threadIdx.x % 32, col = lane % kLanes * kElements;
  const auto result = [&](float sum, T before) {
    const float v = alpha * sum;
    return T(beta == 0 ? v : v + beta * static_cast<float>(before));
  };
  sums += col;
  c += lane / kLanes * ld + col;
#pragma unroll 4
  for (int row = lane / kLanes; row < rows; row += kRowsAtOnce, c += kRowsAtOnce * ld) {
    const float* from = sums + row * kSumsPitch<WN>;
    if (col + kElements <= cols) {
      Elements elements = {};
      if (beta != 0) elements = *reinterpret_cast<const Elements*>(c);
#pragma unroll
      for (int x = 0; x < kElements; ++x) elements.of[x] = result(from[x], elements.of[x]);
      *reinterpret_cast<Elements*>(c) = elements;
    } else {
      for (int x = 0; col + x < cols; ++x) c[x] = result(from[x], beta == 0 ? T(0.0f) : c[x]);
    }
  }
}
