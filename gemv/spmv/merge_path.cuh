// The merge path of a CSR matrix: two sorted lists, the indices of the nonzeros and the rows' ends, are merged in rows
// + nnz steps. Each step consumes a nonzero or ends a row.
#pragma once
#include "cuda_helpers.cuh"

// A position on the path: `row` rows have ended, `element` nonzeros are consumed.
struct PathPlace {
  int row, element;
};

// Returns the position after `steps` steps, by binary search. Row r ends in step ends[r] + r, counted from 0, since all
// nonzeros up to its end and the ends of r rows come before. This number increases with r. It may exceed 2^31.
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

// The sum of a row's part where a thread's or block's steps stop within the row; to be added to y[row].
struct Carry {
  int row;
  float sum;
};
