// A thread per cell, numbered as the cells lie in memory: for thin domains, where tiles would be mostly idle. All
// threads have work, and accesses are coalesced however short the rows are.
#pragma once
#include "thin_domain.hpp"

// out[i] = value(i, row, x) for each cell i, in rows of nx. Past the end it calls value() for the last cell: no branch.
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
