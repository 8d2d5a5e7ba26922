// What embedding and embedding_grad share: ids to try, and the sizes.
#pragma once
#include "ladder.cuh"

#include <cmath>

// An id from a pattern's share of the vocabulary: 0 to below 1 inside. 1 and more are as far past the end, and negative
// ones stay what they are.
inline double id_of(double share, std::size_t vocab) {
  const auto rows = static_cast<double>(vocab);
  if (share < 0) return share;
  if (share >= 1) return rows + share - 1;
  return vocab == 0 ? 0 : std::fmin(std::floor(share * rows), rows - 1);
}

inline double uniform_share(std::uint64_t h) { return static_cast<double>(h >> 11) / (std::uint64_t{1} << 53); }

// Throws UsageError for sizes that make no sense.
inline void require_rows(std::size_t tokens, std::size_t vocab, std::size_t dim) {
  if (static_cast<double>(std::max(tokens, vocab)) * static_cast<double>(dim) > 1e11) {
    throw ladder::UsageError("--dim: rows of " + std::to_string(dim) + " are too long for so many");
  }
}

// A random size: as many tokens and columns as `bytes` allow, and a table of at most as many.
inline ladder::Size with_vocab(ladder::Draw& draw, double bytes, ladder::Size size) {
  const double rows = bytes / 4 / static_cast<double>(size[2]);
  size.dims[1] = draw.length(static_cast<std::size_t>(std::fmin(std::fmax(rows, 1), 1 << 30)));
  return size;
}
