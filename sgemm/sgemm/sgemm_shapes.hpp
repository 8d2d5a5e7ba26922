// Which kernel sgemm_14_by_shape takes for which product. Apart from the step, so that a test can ask.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

// A tile of C: BM x BN, BK deep, TM x TN elements per thread, stages in shared memory; `resident` blocks share an SM.
// Rates are products (multiply-adds) per ns: `alone` of a block that has an SM for itself, `full` of an SM full of
// blocks. To start and to store takes as long as `start` products of each element. These and the other constants of
// this file are fitted to the times of 225 shapes on an H200.
struct SgemmTile {
  int BM, BN, BK, TM, TN, stages, resident;
  double alone, full;
  int start;
};
constexpr SgemmTile kSgemmTiles[] = {{128, 256, 8, 8, 16, 4, 1, 208, 208, 130},  // step 13's
                                     {64, 64, 8, 8, 8, 4, 6, 99, 191, 54},      {64, 64, 8, 8, 4, 4, 5, 145, 160, 23},
                                     {32, 128, 8, 8, 4, 4, 5, 145, 161, 14},    {128, 32, 8, 8, 4, 4, 4, 118, 141, 32},
                                     {16, 128, 16, 4, 4, 3, 6, 115, 134, 13},   {64, 16, 32, 4, 4, 3, 6, 51, 85, 34}};
constexpr std::size_t kStreamK = 0, kTiles = std::size(kSgemmTiles);
constexpr double kLaunchUs = 4;

// Beside the tiles: the outer products of few k, few elements with long sums, few rows, few columns of many rows.
enum SgemmKernel : std::size_t { kSmallK = 100, kDot, kFewRows, kFewColumns };

inline std::size_t sgemm_tiles(const SgemmTile& t, std::size_t M, std::size_t N) {
  const auto BM = static_cast<std::size_t>(t.BM), BN = static_cast<std::size_t>(t.BN);
  return ((M + BM - 1) / BM) * ((N + BN - 1) / BN);
}

// The time of step 13, in us, on `sms` SMs: whole tiles, one per SM; the tiles that remain are shared equally by all
// SMs, where that saves 128 products. aligned_b: rows of B are 16-byte aligned. Other rows are copied first, or, if C
// has few rows, are loaded 4 bytes at a time.
inline double stream_k_us(std::size_t M, std::size_t N, std::size_t K, bool aligned_b, std::size_t sms) {
  const SgemmTile& t = kSgemmTiles[kStreamK];
  const std::size_t tiles = sgemm_tiles(t, M, N), remaining = tiles % sms;
  const auto k = static_cast<double>(K), n = static_cast<double>(N);
  const double share = static_cast<double>(remaining) / static_cast<double>(sms) * k;
  double products = static_cast<double>(tiles / sms) * (k + t.start);
  if (remaining > 0) products += share + 128 <= k ? share + 90 : k + t.start;
  const bool copied = !aligned_b && M > 256;
  const double of_tiles = 1e-3 * t.BM * t.BN * products / t.full;
  return kLaunchUs + (copied ? 5 + 8 * k * n / 3.0e6 : 0) + of_tiles * (aligned_b || copied ? 1 : 1.2);
}

// The time of tiles t with sums of K products in `slices` slices, in us.
inline double sgemm_tile_us(const SgemmTile& t, std::size_t M, std::size_t N, std::size_t K, bool aligned_b,
                            std::size_t slices, std::size_t sms) {
  const auto m = static_cast<double>(M), n = static_cast<double>(N), k = static_cast<double>(K),
             cuts = static_cast<double>(slices);
  // Blocks come in waves; in the last one an SM has fewer. The rate of a block counts and that of the SM, and the
  // memory's with them: hypot takes the slower one and some of the other.
  const std::size_t blocks = sgemm_tiles(t, M, N) * slices, wave = static_cast<std::size_t>(t.resident) * sms,
                    last = blocks % wave;
  const auto wave_us = [&](std::size_t of_sm) {
    const double products = 1e-3 * t.BM * t.BN * (k / cuts + t.start) * (aligned_b ? 1 : 1.07);
    return products * std::hypot(1 / t.alone, static_cast<double>(of_sm) / t.full);
  };
  double of_tiles = static_cast<double>(blocks / wave) * wave_us(static_cast<std::size_t>(t.resident));
  if (last > 0) of_tiles += wave_us((last + sms - 1) / sms);
  const double of_memory = 4 * (m * k + k * n + m * n) / 3.0e6;
  const double of_sums = 2.5 + 8 * cuts * m * n / 4.0e6;  // of slices: written, and read by a second kernel
  return kLaunchUs + std::hypot(of_tiles, of_memory) + (slices > 1 ? of_sums : 0);
}

// Into how many slices k is best cut, and the time of that. Tried in steps of a half, of 64 products at least, up to 40
// blocks per SM.
struct SgemmCut {
  std::size_t slices;
  double us;
};
inline SgemmCut sgemm_cut(const SgemmTile& t, std::size_t M, std::size_t N, std::size_t K, bool aligned_b,
                          std::size_t sms) {
  const auto us = [&](std::size_t slices) { return sgemm_tile_us(t, M, N, K, aligned_b, slices, sms); };
  SgemmCut best = {1, us(1)};
  const std::size_t most = std::min(K / 64, 40 * sms / sgemm_tiles(t, M, N));
  for (std::size_t slices = 2; slices <= most; slices += (slices + 1) / 2) {
    if (const SgemmCut cut = {slices, us(slices)}; cut.us < best.us) best = cut;
  }
  return best;
}

inline std::size_t sgemm_kernel(std::size_t M, std::size_t N, std::size_t K, bool aligned_b, std::size_t sms) {
  if (K <= 8) return kSmallK;
  // A's bytes are the work, and its rows are enough for all SMs: k need not be cut.
  if (N <= 4 && M >= 128 * sms) return kFewColumns;
  // Threads for columns: B is read once. From 17 columns on, lanes also read more of a row of B than threads per k do.
  if (M <= 4 && N > 16) return kFewRows;
  // A thread per k: no tile would be worth its copies. Loads of A are coalesced.
  if (K >= 512 && (N <= 4 || M * N <= 256)) return kDot;
  if (M <= 4 && N > 4) return kFewRows;
  std::size_t best = kStreamK;
  double best_us = stream_k_us(M, N, K, aligned_b, sms);
  for (std::size_t i = 1; i < kTiles; ++i) {
    if (const double us = sgemm_cut(kSgemmTiles[i], M, N, K, aligned_b, sms).us; us < best_us) best = i, best_us = us;
  }
  return best;
}
