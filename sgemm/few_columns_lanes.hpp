// How many lanes share a row in few_columns.cuh. Apart from it, so that a test can ask.
#pragma once
#include <cstddef>

constexpr int kLeastLogLanes = 2, kMostLogLanes = 5;

// The logarithm of the smallest number of lanes, from 4 up to a warp, of which each has at most 4 products of a row.
// With fewer lanes a warp's load would touch more rows, and so more lines of L1.
inline int few_columns_log_lanes(std::size_t K) {
  constexpr std::size_t most = 4;
  int log = kLeastLogLanes;
  while (log < kMostLogLanes && (most << log) < K) ++log;
  return log;
}
