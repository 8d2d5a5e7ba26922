// Selects the rows of a large matrix product that are compared with a reference.
#pragma once
#include "ladder.cuh"

// Returns true if the host computes row `row` of an m x n matrix C whose elements sum k products. Up to m n k = 2^33
// these are all rows; beyond that a pseudo-random 1 in 64 and the last one.
inline bool is_sampled_row(std::size_t m, std::size_t n, std::size_t k, std::size_t row) {
  constexpr double affordable = 1ull << 33;
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return products <= affordable || ladder::hash(1, 0, row) % 64 == 0 || row + 1 == m;
}
