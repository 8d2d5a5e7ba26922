// Test ids and sizes for embedding and embedding_grad.
#pragma once
#include "ladder.cuh"

#include <cmath>

// Returns the id for a share of the vocabulary. Shares in [0, 1) give ids in the table, a share s >= 1 gives
// vocab + s - 1, and a negative share is returned unchanged.
inline double id_of(double share, std::size_t vocab) {
  const auto rows = static_cast<double>(vocab);
  if (share < 0) return share;
  if (share >= 1) return rows + share - 1;
  return vocab == 0 ? 0 : std::fmin(std::floor(share * rows), rows - 1);
}

inline double uniform_share(std::uint64_t h) { return static_cast<double>(h >> 11) / (std::uint64_t{1} << 53); }

// Throws UsageError if a matrix would have more than 1e11 elements.
inline void require_rows(std::size_t tokens, std::size_t vocab, std::size_t dim) {
  if (static_cast<double>(std::max(tokens, vocab)) * static_cast<double>(dim) > 1e11) {
    throw ladder::UsageError("--dim: rows of " + std::to_string(dim) + " are too long for so many");
  }
}

// Returns `size` with a random vocab, at least 1, such that the table has at most about `bytes` bytes.
inline ladder::Size with_vocab(ladder::Draw& draw, double bytes, ladder::Size size) {
  const double rows = bytes / 4 / static_cast<double>(size[2]);
  size.dims[1] = draw.length(static_cast<std::size_t>(std::fmin(std::fmax(rows, 1), 1 << 30)));
  return size;
}
