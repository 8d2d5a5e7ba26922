// Checks what the steps of this folder claim about their memory accesses.
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

TEST_CASE("attention: from step 03 on nothing but O is written to memory") {
  const Size size({1, 128, 128, 64, 0});
  const double o = 4.0 * 128 * 64, scores = 4.0 * 128 * 128;
  const auto written = [&](const char* step) {
    return Claims(step, size).total(Space::global, Op::store).bytes_requested;
  };
  for (const char* step : {"attention_01_three_kernels", "attention_02_tiled"}) {
    CHECK(written(step) == o + 2 * scores);
  }
  for (const char* step :
       {"attention_03_online", "attention_04_flash", "attention_05_register_tiles", "attention_06_skip_masked",
        "attention_07_float4", "attention_08_cp_async", "attention_09_3xtf32"}) {
    CHECK(written(step) == o);
  }
}

TEST_CASE("attention: tiles that the mask hides are not loaded") {
  const Size size({1, 256, 256, 64, 1});
  const auto loaded = [&](const char* step) {
    return static_cast<double>(Claims(step, size).total(Space::global, Op::load).bytes_moved);
  };
  CHECK(loaded("attention_06_skip_masked") < 0.7 * loaded("attention_05_register_tiles"));
}

TEST_CASE("attention: K and V are broadcast, then read by float4; no bank conflicts") {
  for (const std::size_t d : {64, 128}) {
    const Size size({1, 128, 128, d, 0});
    CHECK(Claims("attention_04_flash", size).shared_load() == 1);
    for (const char* step : {"attention_05_register_tiles", "attention_06_skip_masked"}) {
      CAPTURE(step, d);
      CHECK(Claims(step, size).conflicts() == 0);
    }
    for (const char* step : {"attention_07_float4", "attention_08_cp_async", "attention_09_3xtf32"}) {
      CAPTURE(step, d);
      const Claims claims(step, size);
      std::uint64_t float4s = 0;
      for (const auto& access : claims.launches.front().accesses) {
        if (access.space != Space::shared || access.width != 16) continue;
        float4s += access.requests;
        CHECK(access.units == access.ideal);
      }
      CHECK(float4s > 0);
    }
  }
}

TEST_CASE("attention: from the accumulators to the second product the weights stay in registers") {
  const auto exchanges = [](const char* step) {
    std::uint64_t scalar = 0;
    for (const auto& access : Claims(step, {1, 128, 128, 64, 0}).launches.front().accesses) {
      if (access.space == Space::shared && access.width == 4) scalar += access.requests;
    }
    return scalar;
  };
  CHECK(exchanges("attention_08_cp_async") > 0);
  CHECK(exchanges("attention_09_3xtf32") == 0);
}

TEST_CASE("attention 10: keys are read once for four queries, and splits are written only if there are several") {
  const auto bytes = [](const Size& size, Op op) {
    return static_cast<double>(Claims("attention_10_split_keys", size).total(Space::global, op).bytes_requested);
  };
  const double row = 4.0 * 128;
  for (const std::size_t queries : {1, 4}) {
    CAPTURE(queries);
    CHECK(bytes({3, queries, 32, 128, 0}, Op::load) == 3 * row * (queries + 2 * 32));
    CHECK(bytes({3, queries, 32, 128, 0}, Op::store) == 3 * row * queries);
  }
  // three splits of 16 keys: their outputs, maxima and sums are written, and read again
  CHECK(bytes({1, 1, 48, 128, 0}, Op::store) == 3 * (row + 8) + row);
}

TEST_CASE("attention_bf16 04: keys are read once for 16 queries, past shared memory, and whole sectors at a time") {
  const Size size({3, 16, 64, 128, 0});
  const Claims claims("attention_bf16_04_split_keys", size);
  const double row = 2.0 * 128;
  CHECK(claims.total(Space::global, Op::load).bytes_requested == 3 * row * (16 + 2 * 64));
  CHECK(claims.total(Space::global, Op::load).bytes_moved == 3 * row * (16 + 2 * 64));
  CHECK(claims.total(Space::global, Op::store).bytes_requested == 3 * row * 16);
  CHECK(claims.total(Space::shared, Op::load).requests == 0);
  // three splits of 32 keys: their outputs, maxima and sums are written, and read again
  const Claims splits("attention_bf16_04_split_keys", {1, 1, 96, 128, 0});
  CHECK(splits.total(Space::global, Op::store).bytes_requested == 3 * (2 * row + 8) + row);
}

TEST_CASE("attention_bf16: nothing but O is written to memory") {
  const Size size({1, 128, 128, 64, 0});
  for (const char* step : {"attention_bf16_01_wmma", "attention_bf16_02_mma"}) {
    CAPTURE(step);
    CHECK(Claims(step, size).total(Space::global, Op::store).bytes_requested == 2.0 * 128 * 64);
  }
}

TEST_CASE("attention_bf16: a block of 128 queries instead of 32 reads K and V, and no tile that the mask hides") {
  const auto read = [](const char* step, const Size& size) {
    return static_cast<double>(Claims(step, size).total(Space::global, Op::load).bytes_requested);
  };
  const double matrix = 2.0 * 256 * 64;
  CHECK(read("attention_bf16_01_wmma", {1, 256, 256, 64, 0}) == matrix * (1 + 2 * 256 / 32));
  CHECK(read("attention_bf16_02_mma", {1, 256, 256, 64, 0}) == matrix * (1 + 2 * 256 / 128));
  CHECK(read("attention_bf16_02_mma", {1, 256, 256, 64, 1}) == matrix * (1 + 2 * (0.5 + 1)));
}

TEST_CASE("attention_bf16 02: the swizzle leaves no bank conflicts, and a fragment serves 32 queries at d = 64") {
  for (const std::size_t d : {64, 128}) {
    CAPTURE(d);
    const Claims claims("attention_bf16_02_mma", {1, 128, 128, d, 0});
    const std::size_t fragments = 2 * 128 * d / 256, warps = 128 / (d == 64 ? 32 : 16);  // 16 x 16 fragments of K and V
    CHECK(claims.total(Space::shared, Op::load).requests == fragments * warps);
    CHECK(claims.conflicts() == 0);
  }
}

TEST_CASE("attention_bf16_window: the keys up to the diagonal are read, then from the window's first on") {
  const auto read = [](const char* step) {
    return Claims(step, {1, 256, 256, 64, 64}).total(Space::global, Op::load).bytes_requested;
  };
  const double row = 2.0 * 64, rest = 256 * row + 4 * 128 * 4;  // Q, and the sink once per thread
  CHECK(read("attention_bf16_window_01_mask") == rest + 2 * row * (64 + 128 + 192 + 256));
  CHECK(read("attention_bf16_window_02_skip") == rest + 2 * row * (64 + 3 * 127));
}

TEST_CASE("attention_decode: a group of query heads reads K and V once, then 16 bytes per lane") {
  const Size size({2, 2, 4, 64, 0});
  const double kv = 64 * 2 * 2.0 * 128, q = 2.0 * 128, length = 32;  // a warp's length, in sectors: one
  const auto moved = [&](const char* step) {
    return static_cast<double>(Claims(step, size).total(Space::global, Op::load).bytes_moved);
  };
  CHECK(moved("attention_decode_01_warp_per_head") == 16 * (kv + q + length));
  for (const char* step :
       {"attention_decode_02_grouped", "attention_decode_03_wide_loads", "attention_decode_04_split_keys"}) {
    CAPTURE(step);
    CHECK(moved(step) == 4 * (kv + 4 * q + length));
    CHECK(Claims(step, size).width(Space::global, Op::load) ==
          (step == std::string("attention_decode_02_grouped") ? 4 : 16));
  }
  // two tiles of at most eight query heads
  const Claims twelve("attention_decode_03_wide_loads", {1, 1, 12, 64, 0});
  CHECK(twelve.total(Space::global, Op::load).bytes_moved == 2 * (kv + length) + 12 * q);
}

TEST_CASE("attention_decode 04: outputs, maxima and sums of splits are written, only if there are several") {
  const auto stored = [](std::size_t keys) {
    return Claims("attention_decode_04_split_keys", {1, 1, 4, keys, 0}).total(Space::global, Op::store).bytes_requested;
  };
  CHECK(stored(64) == 4 * 512);
  CHECK(stored(96) == 3 * 4 * (512 + 8) + 4 * 512);
}

TEST_CASE("attention_decode_paged: a look into the table for each load of keys, then one for a round of eight") {
  const Size size({2, 2, 4, 64, 0, 16});
  const double kv = 64 * 2 * 2.0 * 128, q = 2.0 * 128, length = 32, rounds = 64 / 8;
  const auto moved = [&](const char* step) {
    return static_cast<double>(Claims(step, size).total(Space::global, Op::load).bytes_moved);
  };
  CHECK(moved("attention_decode_paged_01_key_by_key") == 4 * (kv + 4 * q + length + 4 * rounds * 32));
  CHECK(moved("attention_decode_paged_02_page_ahead") == 4 * (kv + 4 * q + length + rounds * 32));
}

TEST_CASE("attention_decode_int8: half the sectors of K and V, eight bytes per lane, and a sector of scales per load") {
  const Size size({2, 2, 4, 64, 0});
  const double kv = 64 * 2 * 128, q = 2.0 * 128, length = 32, rounds = 64 / 8;
  for (const char* step : {"attention_decode_int8_01_dequantize", "attention_decode_int8_02_scale_outside"}) {
    CAPTURE(step);
    const Claims claims(step, size);
    CHECK(claims.total(Space::global, Op::load).bytes_moved == 4 * (kv + 4 * q + length + rounds * 4 * 2 * 32));
  }
  // 16 bytes per lane, and a sector each of K's and V's scales for 16 keys; q's sectors are requested twice
  const Claims claims("attention_decode_int8_03_mma", size);
  CHECK(claims.width(Space::global, Op::load) == 16);
  CHECK(claims.total(Space::global, Op::load).bytes_moved == 4 * (kv + 8 * q + length + rounds / 2 * 2 * 32));
}

TEST_CASE("cross_entropy: the logits are read twice and written once, then read once") {
  const Size size({64, 1001});
  const auto moved = [&](const char* step, Op op) {
    return Claims(step, size).total(Space::global, op).bytes_moved / (4.0 * size[0] * size[1]);
  };
  CHECK(moved("cross_entropy_01_stored", Op::load) >= 2);
  CHECK(moved("cross_entropy_01_stored", Op::store) >= 1);
  // whole sectors are loaded; neighbouring warps share one if a row is not aligned
  CHECK(moved("cross_entropy_02_online", Op::load) < 1.25);
  CHECK(moved("cross_entropy_03_any_alignment", Op::load) < 1.1);
  CHECK(moved("cross_entropy_03_any_alignment", Op::store) < 0.01);
}

TEST_CASE("cross_entropy 04: tiles of short rows are read once, by float4, and from shared memory without conflicts") {
  // wavefronts per request of the element loads: the shared load with the most requests
  const auto wavefronts = [](const Claims& claims) {
    const cuda_emu::trace::Access* elements = nullptr;
    for (const auto& access : claims.launches.front().accesses) {
      if (access.space != Space::shared || access.op != Op::load) continue;
      if (elements == nullptr || access.requests > elements->requests) elements = &access;
    }
    REQUIRE(elements != nullptr);
    return static_cast<double>(elements->units) / static_cast<double>(elements->requests);
  };
  for (const std::size_t cols : {2, 8, 10, 16, 32, 48, 64, 96, 128}) {
    CAPTURE(cols);
    const Claims claims("cross_entropy_04_by_shape", {256, cols});
    CHECK(claims.width(Space::global, Op::load) == 16);
    CHECK(claims.total(Space::global, Op::load).bytes_moved == 4 * 256 * (cols + 1));  // and the targets
    CHECK(wavefronts(claims) == 1);
  }
  // with an odd length, lanes of different rows may meet in a bank
  for (const std::size_t cols : {33, 65, 127}) {
    const double found = wavefronts(Claims("cross_entropy_04_by_shape", {256, cols}));
    CHECK(found > 1);
    CHECK(found <= 4);
  }
}

TEST_CASE("cross_entropy 04: parts store a pair each, which the merge reads") {
  const auto bytes = [](const Size& size, Op op) {
    return Claims("cross_entropy_04_by_shape", size).total(Space::global, op).bytes_requested;
  };
  CHECK(bytes({1, 32000}, Op::store) == 4);
  CHECK(bytes({1, 50257}, Op::store) == 3 * 8 + 4);
  CHECK(bytes({1, 50257}, Op::load) - bytes({1, 50000}, Op::load) == 4 * 257);
}

TEST_CASE("cross_entropy_grad: the logits are read three times, twice, then once; by float4 in the end, at any row") {
  const auto claims = [](const char* step, std::size_t cols, int reads, unsigned width) {
    CAPTURE(step, cols);
    const Claims seen(step, {{16, cols}, {0.5f}});
    const double row_bytes = 4.0 * 16 * static_cast<double>(cols);
    const auto moved = [&](Op op) { return seen.total(Space::global, op).bytes_moved / row_bytes; };
    CHECK(moved(Op::load) >= reads);  // and the targets
    CHECK(moved(Op::load) < reads + 0.2);
    CHECK(moved(Op::store) < 1.2);
    CHECK(seen.conflicts() == 0);
    CHECK(seen.width(Space::global, Op::load) == width);
    CHECK(seen.width(Space::global, Op::store) == width);
  };
  claims("cross_entropy_grad_01_three_passes", 2048, 3, 4);
  claims("cross_entropy_grad_02_online", 2048, 2, 4);
  claims("cross_entropy_grad_03_shared", 2048, 1, 4);
  claims("cross_entropy_grad_04_float4", 2048, 1, 16);
  claims("cross_entropy_grad_04_float4", 4099, 1, 16);
}
