// Tests what these ladders claim about their memory accesses.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

TEST_CASE("blur: lanes in 32 rows, then along one") {
  const Size size({256, 256});
  const Claims wrong("blur_01_wrong_axis", size), right("blur_02_right_axis", size);
  CHECK(wrong.load() > 25);
  CHECK(wrong.store() > 25);
  CHECK(right.load() <= 5);
  CHECK(right.store() <= 5);
}

TEST_CASE("weights as constants: one word for all lanes") {
  for (const auto& [step, size] :
       {std::pair("conv2d_02_constant", Size{128, 128, 0}), std::pair("conv1d_02_constant", Size{1 << 14, 7}),
        std::pair("stencil1d_02_constant", Size{1 << 14})}) {
    const Claims seen(step, size);
    CAPTURE(step);
    const auto constants = seen.total(Space::constant, Op::load);
    CHECK(constants.requests > 0);
    CHECK(constants.units == constants.requests);
  }
}

TEST_CASE("tiles without bank conflicts read less from global memory") {
  struct Pair {
    const char *before, *after;
    Size size;
  };
  const Pair pairs[] = {{"stencil1d_02_constant", "stencil1d_03_shared_tile", {1 << 14}},
                        {"conv2d_02_constant", "conv2d_03_shared_tile", {128, 128, 0}},
                        {"conv1d_02_constant", "conv1d_03_shared_tile", {1 << 14, 7}},
                        {"jacobi2d_01_naive", "jacobi2d_02_shared_tile", {128, 128, 0}}};
  for (const Pair& pair : pairs) {
    CAPTURE(pair.after);
    const Claims before(pair.before, pair.size), after(pair.after, pair.size);
    CHECK(after.total(Space::global, Op::load).units < before.total(Space::global, Op::load).units);
    CHECK(after.conflicts() == 0);
  }
}

TEST_CASE("conv1d 04: a float4 of the tile for four taps, in place of four elements") {
  const Claims before("conv1d_03_shared_tile", {1 << 14, 32}), after("conv1d_04_register_window", {1 << 14, 32});
  CHECK(before.width(Space::shared, Op::load) == 4);
  CHECK(after.width(Space::shared, Op::load) == 16);
  CHECK(after.total(Space::shared, Op::load).requests * 14 < before.total(Space::shared, Op::load).requests);
  CHECK(after.conflicts() == 0);
}

TEST_CASE("conv1d_causal 02: whole float4, wherever rows start") {
  for (const std::size_t length : {4096, 4095}) {
    const Claims seen("conv1d_causal_02_register_window", {2, 3, length, 4});
    CHECK(seen.width(Space::global, Op::load) == 16);
    CHECK(seen.width(Space::global, Op::store) == 16);
    CHECK(seen.total(Space::global, Op::store).units < 1.06 * 2 * 3 * 4096 / 8);
  }
}

TEST_CASE("pool2d: a stride of 2 takes 8 sectors per request, and two wavefronts in a tile") {
  const Size apart{1, 128, 128, 3, 2, 0, 0}, together{1, 128, 128, 3, 1, 0, 0};
  CHECK(Claims("pool2d_01_output_per_thread", apart).load() > 7);
  CHECK(Claims("pool2d_01_output_per_thread", together).load() <= 5);
  CHECK(Claims("pool2d_02_shared_tile", apart).conflicts() > 0);
  CHECK(Claims("pool2d_02_shared_tile", together).conflicts() == 0);
  const auto shared_loads = [](const char* step) {
    return Claims(step, {1, 128, 128, 5, 1, 2, 0}).total(Space::shared, Op::load).requests;
  };
  CHECK(shared_loads("pool2d_03_separable") < 0.6 * shared_loads("pool2d_02_shared_tile"));
  CHECK(shared_loads("pool2d_04_rows_in_registers") == 0);
  CHECK(shared_loads("pool2d_05_unrolled") == 0);
}

TEST_CASE("conv2d_channels: the im2col matrix costs 9 times the bytes; three taps share a copy of the pixels") {
  const Size size{2, 16, 16, 64, 64};                                                      // 4 tiles
  CHECK(Claims("conv2d_channels_01_direct", {1, 4, 8, 32, 64}).load() == (1 + 32) / 2.0);  // one pixel, 32 filters
  const Claims matrix("conv2d_channels_02_im2col", size), implicit("conv2d_channels_03_implicit_gemm", size),
      pipeline("conv2d_channels_04_pipeline", size), shared("conv2d_channels_05_tap_rows", size);
  const auto sectors = [](const Claims& seen, Op op) { return seen.total(Space::global, op).units; };
  CHECK(sectors(matrix, Op::store) == sectors(implicit, Op::store) + 9 * 2 * 16 * 16 * 64 / 16);
  CHECK(sectors(matrix, Op::load) > 1.6 * sectors(implicit, Op::load));
  CHECK(sectors(pipeline, Op::load) == sectors(implicit, Op::load));
  CHECK(sectors(shared, Op::load) < 0.6 * sectors(pipeline, Op::load));
  for (const Claims* seen : {&matrix, &implicit, &pipeline, &shared}) {
    CHECK(seen->width(Space::global, Op::load) == 16);
    CHECK(seen->conflicts() == 0);
  }
  CHECK(implicit.store() == 8);  // stores of pairs
}

TEST_CASE("heat3d 03: a warp reads and writes whole float4, or neighbouring floats") {
  const Claims aligned("heat3d_03_march", {{260, 20, 26, 1}, {0.25f, 0.125f}});
  CHECK(aligned.width(Space::global, Op::load) == 16);
  CHECK(aligned.width(Space::global, Op::store) == 16);
  const Claims other("heat3d_03_march", {{261, 20, 26, 1}, {0.25f, 0.125f}});
  CHECK(other.width(Space::global, Op::store) == 4);
  CHECK(other.load() <= 5);  // sectors per request; 32 floats touch at most 5 at any alignment
  CHECK(other.store() <= 5);
}

// Which shapes use shared memory, and the width of accesses. Thin shapes: 4 bytes, only weights in shared memory.
TEST_CASE("the path by shape: float4 where rows are aligned, staged rows elsewhere, a thread per cell where few are") {
  struct Path {
    const char* step;
    Size size;
    bool staged;
    unsigned load, store;  // bytes
  };
  const Path paths[] = {
      {"blur_07_register_window", {70, 256}, false, 16, 16},
      {"blur_07_register_window", {70, 257}, true, 16, 4},
      {"blur_07_register_window", {70, 254}, true, 16, 4},
      {"blur_07_register_window", {70, 37}, true, 16, 4},
      {"blur_07_register_window", {70, 3}, false, 4, 4},
      {"blur_07_register_window", {160, 124}, false, 4, 4},
      {"blur_07_register_window", {3, 257}, true, 16, 4},
      {"blur_07_register_window", {1, 100}, false, 4, 4},
      {"blur_07_register_window", {3, 512}, false, 4, 4},
      {"blur_07_register_window", {4, 512}, false, 16, 16},
      {"heat3d_04_temporal_blocking", {{120, 40, 20, 2}, {0.25f, 0.125f}}, true, 16, 16},
      {"heat3d_04_temporal_blocking", {{124, 40, 20, 2}, {0.25f, 0.125f}}, false, 4, 4},
      {"heat3d_04_temporal_blocking", {{32, 40, 20, 2}, {0.25f, 0.125f}}, false, 4, 4},
      {"heat3d_04_temporal_blocking", {{120, 6, 20, 2}, {0.25f, 0.125f}}, false, 4, 4},
      {"heat3d_04_temporal_blocking", {{120, 40, 3, 2}, {0.25f, 0.125f}}, false, 4, 4},
      {"conv2d_04_register_blocking", {70, 256, 3}, false, 16, 16},
      {"conv2d_04_register_blocking", {70, 256, 5}, false, 16, 16},
      {"conv2d_04_register_blocking", {70, 256, 7}, false, 16, 16},
      {"conv2d_04_register_blocking", {70, 255, 3}, true, 16, 4},
      {"conv2d_04_register_blocking", {70, 258, 5}, true, 16, 4},
      {"conv2d_04_register_blocking", {70, 257, 7}, true, 16, 4},
      {"conv2d_05_by_filter", {70, 256, 3}, true, 16, 16},
      {"conv2d_05_by_filter", {70, 256, 5}, true, 16, 16},
      {"conv2d_05_by_filter", {70, 255, 3}, true, 16, 4},
      {"conv2d_05_by_filter", {70, 257, 7}, true, 16, 4},
      {"conv2d_05_by_filter", {72, 64, 3}, true, 16, 16},
      {"conv2d_05_by_filter", {70, 60, 3}, true, 4, 4},
      {"conv2d_05_by_filter", {70, 28, 5}, true, 4, 4},
      {"conv2d_05_by_filter", {7, 256, 7}, true, 16, 16},
      {"conv2d_05_by_filter", {40, 256, 5}, true, 16, 16},
      {"conv2d_05_by_filter", {5, 257, 7}, true, 16, 4},
      {"conv2d_05_by_filter", {1, 256, 7}, true, 4, 4},
      {"conv2d_05_by_filter", {1, 257, 7}, true, 4, 4},
      {"jacobi2d_04_register_tile", {70, 256, 1}, false, 16, 16},
      {"jacobi2d_04_register_tile", {70, 253, 1}, true, 16, 4},
      {"jacobi2d_05_temporal_blocking", {70, 40, 4}, false, 16, 16},
      {"jacobi2d_05_temporal_blocking", {70, 32, 4}, false, 4, 4},
      {"jacobi2d_05_temporal_blocking", {4, 240, 4}, false, 16, 16},
      {"jacobi2d_05_temporal_blocking", {3, 120, 4}, false, 16, 16},
  };
  for (const Path& path : paths) {
    const Claims seen(path.step, path.size);
    INFO(path.step << ", " << path.size[0] << " x " << path.size[1]);
    CHECK((seen.total(Space::shared, Op::load).requests > 0) == path.staged);
    CHECK(seen.width(Space::global, Op::load) == path.load);
    CHECK(seen.width(Space::global, Op::store) == path.store);
  }
}
