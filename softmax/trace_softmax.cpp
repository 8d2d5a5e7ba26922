// What the ladders of this folder claim of their accesses.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

TEST_CASE("row_softmax: lanes in 32 rows, then along one, then by float4") {
  const Size size({64, 1024});
  CHECK(Claims("row_softmax_01_thread_per_row", size).load() == 32);
  for (const char* step :
       {"row_softmax_02_block_per_row", "row_softmax_03_warp_per_row", "row_softmax_04_xor_shuffle"}) {
    CAPTURE(step);
    CHECK(Claims(step, size).load() == 4);
  }
  CHECK(Claims("row_softmax_06_registers", size).load() == 16);
}

TEST_CASE("row_softmax: x is read three times, then twice, then once") {
  const Size size({64, 1024});
  const auto reads = [&](const char* step) {
    return Claims(step, size).total(Space::global, Op::load).bytes_moved / (4.0 * size[0] * size[1]);
  };
  CHECK(reads("row_softmax_04_xor_shuffle") == 3);
  CHECK(reads("row_softmax_05_online") == 2);
  CHECK(reads("row_softmax_06_registers") == 1);
  CHECK(reads("row_softmax_07_shared") == 1);
}

TEST_CASE("row_softmax: the row in shared memory has no bank conflicts") {
  CHECK(Claims("row_softmax_07_shared", {64, 1024}).conflicts() == 0);
}

TEST_CASE("col_softmax: lanes along a row") {
  CHECK(Claims("col_softmax_01_thread_per_column", {64, 256}).load() == 4);
}
