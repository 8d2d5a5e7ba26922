// Which rows of a large product are compared with a reference.
#pragma once
#include "ladder.cuh"

// Is row `row` of an m x n matrix C, a sum of k products each, to be computed on the host? All rows of up to 2^33
// products in all; beyond that one row in 64, different ones in every 64, and the last one.
inline bool is_sampled_row(std::size_t m, std::size_t n, std::size_t k, std::size_t row) {
  constexpr double affordable = 1ull << 33;
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return products <= affordable || ladder::hash(1, 0, row) % 64 == 0 || row + 1 == m;
}
