// What these ladders claim about their accesses.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

namespace {

// The sectors of the access that moves most, per request: those of A.
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
