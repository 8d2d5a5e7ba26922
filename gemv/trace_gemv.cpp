// Tests of what these ladders claim about their memory accesses.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

namespace {

// Returns the sectors per request of the global load that moves most: that of A.
double sectors_of_matrix(const char* step, const Size& size) {
  const Claims seen(step, size);
  const cuda_emu::trace::Access* most = nullptr;
  for (const auto& access : seen.launches.front().accesses) {
    if (access.space != Space::global || access.op != Op::load) continue;
    if (most == nullptr || access.units > most->units) most = &access;
  }
  REQUIRE(most != nullptr);
  return static_cast<double>(most->units) / static_cast<double>(most->requests);
}

// Returns the sectors of all global loads of the last launch, per `weights` of the 256 x 1024 weights.
double sectors_of_loads(const char* step, double weights, const Size& size = {256, 1024}) {
  const Claims seen(step, size);
  double all = 0;
  for (const auto& access : seen.launches.back().accesses) {
    if (access.space == Space::global && access.op == Op::load) all += static_cast<double>(access.units);
  }
  return all / (256 * 1024 / weights);
}

}  // namespace

TEST_CASE("gemv: a thread per row takes 32 sectors per request of A, lanes along a row 4, or 16 by float4") {
  const Size size({256, 512, 0}, {1, 0});
  CHECK(sectors_of_matrix("gemv_01_thread_per_row", size) == 32);
  CHECK(sectors_of_matrix("gemv_02_warp_per_row", size) == 4);
  for (const char* step : {"gemv_03_float4", "gemv_04_short_rows", "gemv_05_block_per_row"}) {
    CAPTURE(step);
    CHECK(sectors_of_matrix(step, size) == 16);
  }
}

TEST_CASE("spmv: lanes along a row or a tile leave the gather from x as the only scattered load") {
  constexpr std::uint64_t rows = 1024, mean = 32;
  const auto scattered = [](const char* step) {
    int count = 0;
    const Claims seen(step, {rows, 4096, mean, 0});
    for (const auto& access : seen.launches.front().accesses) {
      const bool often = access.requests >= rows * mean / 32;
      if (access.space == Space::global && access.op == Op::load && often) count += access.units > 24 * access.requests;
    }
    return count;
  };
  CHECK(scattered("spmv_01_thread_per_row") == 3);  // columns, values, x
  CHECK(scattered("spmv_02_warp_per_row") == 1);
  CHECK(scattered("spmv_03_lanes_by_mean") == 1);
  CHECK(scattered("spmv_04_merge_path") == 3);
  CHECK(scattered("spmv_05_merge_tile") == 1);
}

TEST_CASE("spmv 05: walks of 7 steps seldom meet in a bank") {
  CHECK(Claims("spmv_05_merge_tile", {512, 4096, 64, 0}).shared_load() < 1.5);
}

// A warp's 512 weights are 16 sectors. The others are x, 32 sectors if each is loaded once and whole, and scales.
TEST_CASE("gemv_w8: sectors of all loads for 512 weights") {
  const auto sectors = [](const char* step) { return sectors_of_loads(step, 512); };
  CHECK(sectors("gemv_w8_01_dequantize") == 64 + 32);
  CHECK(sectors("gemv_w8_02_registers") == 16 + 32 + 16);
  CHECK(sectors("gemv_w8_03_sixteen") == 16 + 64 + 1);    // both loads of x touch all of its sectors
  CHECK(sectors("gemv_w8_04_four_rows") == 16 + 16 + 1);  // x once for four rows
  CHECK(sectors("gemv_w8_05_no_conversion") == 16 + 16 + 1);
}

// A warp's 1024 weights are 16 sectors.
TEST_CASE("gemv_w4: sectors of all loads for 1024 weights") {
  const auto sectors = [](const char* step) { return sectors_of_loads(step, 1024); };
  CHECK(sectors("gemv_w4_01_shifts") == 16 + 2 * 64 + 32);  // both halves of a pair of x, then scales and zero points
  CHECK(sectors("gemv_w4_02_vectors") == 16 + 128 + 2);     // each of four loads of x touches half of its sectors
  CHECK(sectors("gemv_w4_03_magic") == 16 + 128 + 2);
  CHECK(sectors("gemv_w4_04_four_rows") == 16 + 32 + 2);  // x once for four rows
}

// With eight rows of X. The mma steps load them for 16 rows of W, and a scale and a zero point for a lane's two rows.
TEST_CASE("gemv_w4_rows: sectors of all loads for 1024 weights") {
  const auto sectors = [](const char* step) { return sectors_of_loads(step, 1024, {8, 256, 8}); };
  CHECK(sectors("gemv_w4_rows_01_registers") == 16 + 8 * 128 + 2);
  CHECK(sectors("gemv_w4_rows_02_mma") == 128 + 64 + 10);  // a byte of each of 8 rows per request
  CHECK(sectors("gemv_w4_rows_03_order_of_k") == 16 + 64 + 10);
  CHECK(sectors("gemv_w4_rows_04_subnormals") == 16 + 64 + 10);
}
