// Which kernel sgemm_14_by_shape takes for which product. Apart from the step, so that a test can ask.
#pragma once
#include <algorithm>
#include <cstddef>

// A tile of C: BM x BN, BK deep, TM x TN elements per thread, stages in shared memory. What it takes, in products of
// step 13's tile: those of all tiles, what lies past C's edges included, over `rate`, and `start` more for each
// element of a tile. Rates and starts are fitted to some 30 shapes on an H200.
struct SgemmTile {
  int BM, BN, BK, TM, TN, stages;
  double rate;
  int start;
};
constexpr SgemmTile kSgemmTiles[] = {
    {128, 256, 8, 8, 16, 4, 1.00, 80},  // step 13's: one block per SM, nothing overlaps its start and its end
    {64, 64, 8, 8, 4, 4, 0.67, 16},    {32, 128, 8, 8, 4, 4, 0.65, 13}, {128, 32, 8, 8, 4, 4, 0.58, 16},
    {32, 64, 16, 4, 4, 3, 0.55, 16},   {32, 32, 16, 4, 4, 4, 0.50, 16}, {16, 64, 32, 4, 4, 3, 0.52, 32},
    {64, 16, 32, 4, 4, 3, 0.40, 16},   {4, 256, 8, 4, 4, 4, 0.20, 16}};  // 5 to 8 rows, short k
constexpr std::size_t kStreamK = 0, kSmallestTile = 8;

// Beside the tiles: the outer products of few k, few elements with long sums, few rows, few columns of many rows.
enum SgemmKernel : std::size_t { kSmallK = 100, kDot, kFewRows, kFewColumns };

// What tile number i takes for C of M x N and sums of K products, on `sms` SMs.
inline double sgemm_tile_work(std::size_t i, std::size_t M, std::size_t N, std::size_t K, std::size_t sms) {
  const SgemmTile& t = kSgemmTiles[i];
  const auto count = [](std::size_t n, int tile) {
    const auto b = static_cast<std::size_t>(tile);
    return static_cast<double>((n + b - 1) / b);
  };
  const double tiles = count(M, t.BM) * count(N, t.BN), area = static_cast<double>(t.BM) * t.BN;
  const auto k = static_cast<double>(K), all = static_cast<double>(sms);
  // Stream-K gives each SM a share; each share has a start.
  if (i == kStreamK) return area * (tiles * k + std::max(tiles, all) * t.start);
  // The others leave SMs idle if there are fewer tiles, and k is too short for slices.
  const double busy = std::min(1.0, tiles * std::max(1.0, k / 512) / all);
  return area * tiles * (k + t.start) / (t.rate * busy);
}

inline std::size_t sgemm_kernel(std::size_t M, std::size_t N, std::size_t K, std::size_t sms) {
  if (K <= 8) return kSmallK;
  // A's bytes are the work, and its rows are enough for all SMs: k need not be cut.
  if (N <= 4 && M >= 128 * sms) return kFewColumns;
  // Threads for columns: B is read once. From 17 columns on, lanes also read more of a row of B than threads per k do.
  if (M <= 4 && N > 16) return kFewRows;
  // A thread per k: no tile would be worth its copies. Loads of A are coalesced.
  if (K >= 512 && (N <= 4 || M * N <= 256)) return kDot;
  if (M <= 4 && N > 4) return kFewRows;
  std::size_t best = kStreamK;
  for (std::size_t i = 1; i <= kSmallestTile; ++i) {
    if (sgemm_tile_work(i, M, N, K, sms) < sgemm_tile_work(best, M, N, K, sms)) best = i;
  }
  return best;
}
