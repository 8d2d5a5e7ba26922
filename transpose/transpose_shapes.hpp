// Which kernel transpose 10 and transpose_inplace 03 take for which matrix. Apart from the steps, so that a test can
// ask.
#pragma once
#include <algorithm>
#include <cstddef>

namespace transpose_shapes {

enum class Path { thin, aligned, shifted };

// Few rows or few columns leave most of a tile of 64 x 64 (aligned) or 96 x 64 (shifted) empty. An aligned matrix
// fills half of a tile from 33 on.
constexpr std::size_t kThin = 64, kThinAligned = 32;

// aligned: rows and cols are multiples of 4, the pointers of 16 bytes.
inline Path path(std::size_t rows, std::size_t cols, bool aligned) {
  if (std::min(rows, cols) <= (aligned ? kThinAligned : kThin)) return Path::thin;
  return aligned ? Path::aligned : Path::shifted;
}

// A thin tile is 2^log_width of the longer side, and all of the shorter one, `few`: at most kElements floats, but so
// that there are at least `enough` tiles.
constexpr std::size_t kElements = 8192;
inline unsigned log_width(std::size_t few, std::size_t length, std::size_t enough) {
  unsigned log = 5;
  while ((few << (log + 1)) <= kElements && (length >> (log + 1)) >= enough) ++log;
  return log;
}

// transpose_inplace 03, on a GPU of `sms` SMs. aligned: n is a multiple of 4, the pointer of 16 bytes. Else few, with
// fewer than kPairs pairs of tiles of 64 x 64 per SM: there the time of one block counts, and skewed tiles take more
// instructions.
enum class PairsPath { aligned, few, skewed };
constexpr std::size_t kPairs = 8;
inline PairsPath pairs_path(std::size_t n, bool aligned, std::size_t sms) {
  if (aligned) return PairsPath::aligned;
  const std::size_t tiles = (n + 63) / 64;
  return tiles * (tiles + 1) / 2 < kPairs * sms ? PairsPath::few : PairsPath::skewed;
}

}  // namespace transpose_shapes
