// Which kernel the top steps of gemm_bf16 and sgemm_tf32 take for which product. Apart from the steps, so that a test
// can ask.
#pragma once
#include <algorithm>
#include <cstddef>

// The first ones are tiles of mma.sync, rows x columns of C: the number of one is its place in kMmaTiles.
enum class GemmKernel {
  tile_128x128,
  tile_64x64,
  tile_32x128,
  tile_128x32,
  tile_16x256,
  tile_128x16,
  tile_16x32,
  small_k,
  dot,
  few_rows,
  few_columns,
  wgmma,         // tiles of 256 x 256, for two blocks
  wgmma_split_k  // tiles of 128 x 128, for a cluster that has k in parts
};

// At most 96 KB in all stages: a block of sm_86 can have 99. Where rows are not aligned a tile takes more, and the first
// one has two stages.
constexpr int kMostStageBytes = 99 << 10;
struct MmaTile {
  int BM, BN, warps_m, warps_n, stages;
};
constexpr MmaTile kMmaTiles[] = {{128, 128, 2, 4, 3}, {64, 64, 2, 2, 4},  {32, 128, 2, 4, 4}, {128, 32, 8, 1, 4},
                                 {16, 256, 1, 8, 2},  {128, 16, 8, 1, 4}, {16, 32, 1, 2, 6}};

// How long a tile takes: for each byte of a row of A, and to start and to store its results, in ns.
struct TileTime {
  double byte, ends;
};

// Bytes per ns: what memory reads and writes at the same time, of an H200's 4800; and what one of its 132 SMs copies to
// shared memory, mostly from L2.
constexpr double kMemoryRate = 2500, kSmRate = 43;

// `tiles` tiles, `resident` at once, of rows of A of row_bytes, in `slices` slices of k. The sums of slices are written
// and read again, for each of C's elements, by a second kernel, whose launch takes 3 us.
inline double tiles_time(std::size_t tiles, std::size_t resident, std::size_t row_bytes, std::size_t elements,
                         const TileTime& tile, std::size_t slices) {
  const std::size_t waves = (tiles * slices + resident - 1) / resident;
  const double slice_bytes = static_cast<double>((row_bytes + slices - 1) / slices);
  const double of_tiles = static_cast<double>(waves) * (slice_bytes * tile.byte + tile.ends);
  const double of_sums = 3000 + static_cast<double>(slices) * static_cast<double>(elements) * 8 / kMemoryRate;
  return of_tiles + (slices > 1 ? of_sums : 0);
}

// Into how many slices k is cut: more of them fill the last wave of tiles. Only if that saves a fifth: a last wave that
// is nearly empty is faster than a full one (H200).
inline std::size_t gemm_slices(std::size_t tiles, std::size_t resident, std::size_t row_bytes, std::size_t elements,
                               const TileTime& tile) {
  constexpr std::size_t least_bytes = 512;  // of a row of A, 4 steps
  std::size_t best = 1;
  double best_time = 0.8 * tiles_time(tiles, resident, row_bytes, elements, tile, 1);
  for (std::size_t slices = 2; slices <= row_bytes / least_bytes && (slices - 1) * tiles < 8 * resident; ++slices) {
    const double time = tiles_time(tiles, resident, row_bytes, elements, tile, slices);
    if (time < best_time) best = slices, best_time = time;
  }
  return best;
}

// Tiles of mma.sync take as long as their copies to shared memory, which `per_sm` blocks make at a time, of elements of
// `size` bytes. They take longer where rows are not 16-byte aligned, and with them what is stored (H200).
inline TileTime mma_tile_time(const MmaTile& tile, std::size_t per_sm, std::size_t size, bool aligned_ab,
                              bool aligned_c, std::size_t M, std::size_t N) {
  const double copied = (tile.BM + tile.BN) * (aligned_ab ? 1 : size == 2 ? 2.25 : 1.55);
  const auto stored = static_cast<double>(size * std::min<std::size_t>(M, tile.BM) * std::min<std::size_t>(N, tile.BN));
  const double byte = static_cast<double>(per_sm) / kSmRate;
  return {byte * copied, 2200 + byte * stored * (aligned_c ? 1 : 1.4)};
}

// Of the tiles of wgmma, 256 x 256 for two blocks: 5.2 ns are 830 TFLOP/s in BF16, 415 in TF32. `store`: ns for a whole
// tile; the default is for the sums of a slice.
constexpr std::size_t kWgmmaSide = 256;
inline TileTime wgmma_tile_time(std::size_t M, std::size_t N, double store = 5000) {
  const std::size_t stored = std::min(M, kWgmmaSide) * std::min(N, kWgmmaSide);
  return {5.2, 3200 + store * static_cast<double>(stored) / (kWgmmaSide * kWgmmaSide)};
}
inline std::size_t wgmma_slices(std::size_t tiles, std::size_t sms, std::size_t row_bytes, std::size_t M,
                                std::size_t N) {
  return gemm_slices(tiles, sms / 2, row_bytes, M * N, wgmma_tile_time(M, N));
}

// Of the tiles of wgmma, 128 x 128 for a block, or for a cluster whose blocks have `parts` of k: 3.6 ns are 600 TFLOP/s
// in BF16, for each product takes twice the bytes from L2, and a quarter more in shared memory. The more parts, the
// more of a block's sums come from other SMs. A cluster lies within one GPC, whose SMs are not always a multiple of it:
// an H200 has room for 15 clusters of 8 at once, 31 of 4 and 64 of 2.
constexpr std::size_t kSplitSide = 128, kStepBytes = 128;  // of a row of A
inline double split_k_time(std::size_t M, std::size_t N, std::size_t row_bytes, std::size_t parts, std::size_t sms,
                           bool aligned_c) {
  const std::size_t tiles = ((M + kSplitSide - 1) / kSplitSide) * ((N + kSplitSide - 1) / kSplitSide);
  const std::size_t steps = (row_bytes + kStepBytes - 1) / kStepBytes, idle = parts > 1 ? 3 * parts / 2 : 0;
  const std::size_t resident = sms >= idle + parts ? (sms - idle) / parts : 1;
  const double exchange = 1700 * (1 - 1 / static_cast<double>(parts));
  const TileTime tile = {3.6, 3500 + exchange + (aligned_c ? 0 : 1000)};
  return tiles_time(tiles, resident, (steps + parts - 1) / parts * kStepBytes, 0, tile, 1);
}
inline std::size_t split_k_parts(std::size_t M, std::size_t N, std::size_t row_bytes, std::size_t sms) {
  std::size_t best = 1;
  for (std::size_t parts = 2; parts <= 8 && parts * kStepBytes <= row_bytes; parts *= 2) {
    const auto time = [&](std::size_t count) { return split_k_time(M, N, row_bytes, count, sms, true); };
    if (time(parts) < time(best)) best = parts;
  }
  return best;
}

// Without wgmma, on `sms` SMs.
inline GemmKernel gemm_kernel(std::size_t M, std::size_t N, std::size_t K, std::size_t sms) {
  // C's bytes are the work: of 5 to 8 products only where C has few rows or columns, for they cost instructions.
  if (K <= 4 || (K <= 8 && (M <= 128 || N <= 128))) return GemmKernel::small_k;
  // A's bytes are the work, and its rows are enough for all SMs: k need not be cut.
  if (N <= 4 && M >= 128 * sms) return GemmKernel::few_columns;
  // A thread per k: no tile would be worth its copies. Loads of A are coalesced, and those of B touch few lines or are
  // few.
  const bool few_lines = N <= 8 || (M <= 4 && K * N <= std::size_t{1} << 22);
  if (K >= 512 && (N <= 4 || (M * N <= 350 && few_lines))) return GemmKernel::dot;
  // No tensor core has a tile so low: a thread per column. B is read once, and its bytes are the work.
  if (M <= 4 && N > 4) return GemmKernel::few_rows;
  // One or two small tiles and long k: many slices of k, so small blocks, of which an SM has many.
  if (K >= 512 && ((M + 15) / 16) * ((N + 31) / 32) <= 2) return GemmKernel::tile_16x32;
  // Few rows or columns: all of them in one tile, so that the large matrix is read once.
  if (N <= 16) return GemmKernel::tile_128x16;
  if (M <= 16) return GemmKernel::tile_16x256;
  if (N <= 32) return GemmKernel::tile_128x32;
  // The same where C's bytes are the work, for they are stored by rows.
  if (M <= 32 || (M <= 64 && K <= 128)) return GemmKernel::tile_32x128;
  // As many products per loaded element as there are SMs to keep busy.
  const std::size_t large_tiles = ((M + 127) / 128) * ((N + 127) / 128), slices = K / 1024 + 1;
  const bool small = M <= 64 || N <= 64 || large_tiles * slices < sms;
  return small ? GemmKernel::tile_64x64 : GemmKernel::tile_128x128;
}

// With wgmma, whose tiles need rows that are 16-byte aligned: others are copied first, read and written. Elements have
// `size` bytes. Which takes least, the copies and one of the tiles of wgmma, or a tile of mma.sync?
inline GemmKernel gemm_kernel_sm90(std::size_t M, std::size_t N, std::size_t K, std::size_t size, bool aligned_a,
                                   bool aligned_b, bool aligned_c, std::size_t sms) {
  const GemmKernel other = gemm_kernel(M, N, K, sms);
  if (other >= GemmKernel::small_k || M <= 16 || N <= 16) return other;  // 16: an eighth of wgmma's smaller tile
  const auto tiles = [&](std::size_t BM, std::size_t BN) { return ((M + BM - 1) / BM) * ((N + BN - 1) / BN); };
  const auto time = [&](std::size_t count, std::size_t resident, const TileTime& tile) {
    const std::size_t slices = gemm_slices(count, resident, K * size, M * N, tile);
    return tiles_time(count, resident, K * size, M * N, tile, slices);
  };
  const MmaTile& tile = kMmaTiles[static_cast<int>(other)];
  constexpr std::size_t per_sm = 2;  // blocks
  // For mma.sync rows of A and B must end at multiples of 16 bytes, too: tiles with a short side wait for memory anyway.
  const bool whole_n = N * size % 16 == 0, whole_k = K * size % 16 == 0, short_side = tile.BM < 64 || tile.BN < 64;
  const bool aligned_ab = aligned_a && aligned_b && ((whole_n && whole_k) || short_side);
  const double mma =
      time(tiles(tile.BM, tile.BN), per_sm * sms, mma_tile_time(tile, per_sm, size, aligned_ab, aligned_c, M, N));
  const auto copy = [&](bool aligned, std::size_t elements) {
    constexpr double copy_rate = 3400, launch = 2200;
    return aligned ? 0 : launch + 2 * static_cast<double>(size * elements) / copy_rate;
  };
  // Until the first stage is full. BF16 is stored by TMA where it can, else 32 elements of a row at a time; TF32 as
  // the accumulators have it, 8 or 4 bytes a lane.
  const double first_stage = 2000 + copy(aligned_a, M * K) + copy(aligned_b, K * N);
  const double store = size == 2 ? (aligned_c && whole_n ? 0 : 3200) : aligned_c ? 1300 : 9400;
  const std::size_t wgmma_tiles = tiles(kWgmmaSide, kWgmmaSide);
  const bool sliced = wgmma_slices(wgmma_tiles, sms, K * size, M, N) > 1;  // then sums are stored, not C
  const TileTime wgmma_tile = sliced ? wgmma_tile_time(M, N) : wgmma_tile_time(M, N, store);
  const double wgmma = first_stage + time(wgmma_tiles, sms / 2, wgmma_tile);
  const std::size_t parts = split_k_parts(M, N, K * size, sms);
  const double split = first_stage + split_k_time(M, N, K * size, parts, sms, aligned_c);
  if (mma <= std::min(wgmma, split)) return other;
  return wgmma <= split ? GemmKernel::wgmma : GemmKernel::wgmma_split_k;
}
