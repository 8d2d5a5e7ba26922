// For thin domains, where most threads of a tile would be idle: neighbouring threads take neighbouring cells in memory
// order. All threads have work, and accesses are coalesced even if rows are short.
#pragma once
#include "thin_domain.hpp"

// Sets out[i] = value(i, row, x) for each cell i, in rows of nx cells. To avoid a branch, threads past the end call
// value() for the last cell.
template <typename Index, typename Value>
static __device__ void thin_cells(float* __restrict__ out, Index cells, const Divisor<Index>& nx, const Value& value) {
  const Index first = Index{blockIdx.x} * (kThinBlock * kThinCells) + threadIdx.x;
  float cell[kThinCells];
#pragma unroll
  for (int k = 0; k < kThinCells; ++k) {
    const Index i = min(first + k * kThinBlock, cells - 1), row = nx.quotient(i);
    cell[k] = value(i, row, i - row * nx.d);
  }
#pragma unroll
  for (int k = 0; k < kThinCells; ++k) {
    if (first + k * kThinBlock < cells) out[first + k * kThinBlock] = cell[k];
  }
}
