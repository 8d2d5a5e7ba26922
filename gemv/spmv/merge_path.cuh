// The merge path of a matrix in CSR. Walking through it takes rows + nnz steps, each of which consumes a nonzero or
// ends a row: two sorted lists are merged, the nonzeros' numbers and the rows' ends.
#pragma once
#include "cuda_helpers.cuh"

// Where a walk stands: so many rows have ended, so many nonzeros are consumed.
struct PathPlace {
  int row, element;
};

// Where a walk stands after `steps` steps. Row r ends with step ends[r] + r, for all its nonzeros and the ends of r
// rows come before; these numbers rise with r, hence a binary search. Sums may exceed 2^31.
__device__ inline PathPlace place_on_path(const int* ends, int rows, std::size_t steps) {
  int low = 0, high = rows;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (static_cast<std::size_t>(ends[middle]) + middle < steps) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, static_cast<int>(steps - low)};
}

// What a walk leaves when it stops within a row: the sum of the row's part, for y[row].
struct Carry {
  int row;
  float sum;
};
