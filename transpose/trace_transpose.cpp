// Tests what these ladders claim about their memory accesses, at sizes where all requests are full.
#include "claims.hpp"

using namespace ladder;

TEST_CASE("transpose: sectors and wavefronts per request") {
  struct Expected {
    const char* step;
    double load, store, shared_load, shared_store;
  };
  const Expected steps[] = {
      {"transpose_01_coalesced_read", 4, 32, 0, 0},
      {"transpose_02_coalesced_write", 32, 4, 0, 0},
      {"transpose_03_ldg", 32, 4, 0, 0},
      {"transpose_04_shared_tile", 4, 4, 32, 1},
      {"transpose_05_padded", 4, 4, 1, 1},
      {"transpose_06_swizzled", 4, 4, 1, 1},
      {"transpose_07_four_rows", 4, 4, 1, 1},
      {"transpose_08_dynamic_shared", 4, 4, 1, 1},
      {"transpose_09_float4", 16, 16, 1, 1},
      {"transpose_10_wide_stores", 16, 16, 2, 2},
  };
  for (const Expected& expected : steps) {
    const Claims seen(expected.step, {192, 256});
    CAPTURE(expected.step);
    CHECK(seen.load() == expected.load);
    CHECK(seen.store() == expected.store);
    CHECK(seen.shared_load() == expected.shared_load);
    CHECK(seen.shared_store() == expected.shared_store);
  }
}

TEST_CASE("transpose, few rows or columns: floats on the long side, float4 on the short one, no conflicts at 32") {
  setenv("LADDER_CHOICE", "thin", 1);
  const Claims rows("transpose_any_shape", {32, 4096}), columns("transpose_any_shape", {4096, 32});
  unsetenv("LADDER_CHOICE");
  CHECK(rows.load() == 4);
  CHECK(rows.store() == 16);
  CHECK(columns.load() == 16);
  CHECK(columns.store() == 4);
  CHECK(rows.conflicts() == 0);
  CHECK(columns.conflicts() == 0);
}

// Also counted on an H200: smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld over
// smsp__sass_inst_executed_op_shared_ld.
TEST_CASE("transpose: wavefronts of the tile, as on a GPU") {
  const auto tile_loads = [](const char* step) {
    return Claims(step, {1027, 1537}).total(Claims::Space::shared, Claims::Op::load);
  };
  const auto conflicts = tile_loads("transpose_04_shared_tile"), none = tile_loads("transpose_05_padded");
  CHECK(conflicts.requests == 50'721);
  CHECK(conflicts.units == 1'578'499);
  CHECK(none.requests == 50'721);
  CHECK(none.units == 50'721);
}

TEST_CASE("bank_conflict: where the stride is, and what a pitch does to it") {
  struct Expected {
    const char* step;
    double load, shared_load, shared_store;
  };
  const Expected steps[] = {{"bank_conflict_01_row_row", 32, 1, 1},
                            {"bank_conflict_02_column_row", 4, 1, 32},
                            {"bank_conflict_03_padded", 4, 1, 1},
                            {"bank_conflict_04_rectangular", 4, 1, 8},
                            {"bank_conflict_05_dynamic", 4, 2, 1}};
  for (const Expected& expected : steps) {
    const Claims seen(expected.step, {1024});
    CAPTURE(expected.step);
    CHECK(seen.load() == expected.load);
    CHECK(seen.shared_load() == expected.shared_load);
    CHECK(seen.shared_store() == expected.shared_store);
  }
}

TEST_CASE("copies along rows and down columns") {
  CHECK(Claims("copy_row_01_coalesced", {192, 256}).load() == 4);
  CHECK(Claims("copy_col_01_strided", {192, 256}).load() == 32);
  CHECK(Claims("copy_col_01_strided", {192, 256}).store() == 32);
}
