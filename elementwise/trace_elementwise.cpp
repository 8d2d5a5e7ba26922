// Tests of what the ladders of this folder claim about their memory accesses.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

TEST_CASE("vectors: 4 sectors per request by float, 16 by float4") {
  const char* scalar[] = {"copy_01_scalar", "add_01_scalar",     "add_02_grid_stride", "gelu_01_scalar",
                          "relu_01_scalar", "sigmoid_01_scalar", "silu_01_scalar"};
  const char* wide[] = {"copy_02_float4",    "copy_03_float4_ilp", "add_03_float4",
                        "add_04_float4_ilp", "gelu_02_float4",     "gelu_03_one_polynomial",
                        "relu_02_float4",    "sigmoid_02_float4",  "silu_02_float4"};
  for (const char* step : scalar) {
    const Claims seen(step, {1 << 14});
    CAPTURE(step);
    CHECK(seen.load() == 4);
    CHECK(seen.store() == 4);
  }
  for (const char* step : wide) {
    const Claims seen(step, {1 << 14});
    CAPTURE(step);
    CHECK(seen.load() == 16);
    CHECK(seen.store() == 16);
    CHECK(seen.total(Space::global, Op::load).ideal == seen.total(Space::global, Op::load).units);
  }
}

TEST_CASE("add_half2: 2 sectors per request, then 4, then 16") {
  CHECK(Claims("add_half2_01_scalar", {1 << 14}).load() == 2);
  CHECK(Claims("add_half2_02_half2", {1 << 14}).load() == 4);
  CHECK(Claims("add_half2_03_eight_halves", {1 << 14}).load() == 16);
}

TEST_CASE("swiglu: 2 sectors per request, then 16") {
  CHECK(Claims("swiglu_01_scalar", {1 << 14}).load() == 2);
  const Claims eight("swiglu_02_eight", {1 << 14});
  CHECK(eight.load() == 16);
  CHECK(eight.store() == 16);
}

TEST_CASE("rgb_to_gray: bytes, then words and uint4 apart, then neighbouring uint4") {
  struct Seen {
    const char* step;
    double load, store;
    unsigned width;
  };
  for (const Seen& want : {Seen{"rgb_to_gray_01_scalar", 3, 1, 1}, Seen{"rgb_to_gray_02_words", 12, 4, 4},
                           Seen{"rgb_to_gray_03_sixteen", 32, 16, 16}, Seen{"rgb_to_gray_04_shared", 16, 16, 16}}) {
    const Claims seen(want.step, {8, 4096});
    CAPTURE(want.step);
    CHECK(seen.load() == want.load);
    CHECK(seen.store() == want.store);
    CHECK(seen.width(Space::global, Op::load) == want.width);
    CHECK(seen.conflicts() == 0);
  }
}

TEST_CASE("rope: neighbouring pairs take twice the sectors, then whole float4; no bank conflicts") {
  const Size pairs{4, 32, 64, 0}, halves{4, 32, 64, 1};
  for (const char* step : {"rope_01_scalar", "rope_02_pair", "rope_03_heads", "rope_04_float4"}) {
    CAPTURE(step);
    const bool apart = step == std::string("rope_02_pair") || step == std::string("rope_03_heads");
    const Claims of_pairs(step, pairs), of_halves(step, halves);
    for (const Op op : {Op::load, Op::store}) {
      const auto seen = of_pairs.total(Space::global, op);
      CHECK((seen.units > seen.ideal * 3 / 2) == apart);
      CHECK(of_halves.total(Space::global, op).units == of_halves.total(Space::global, op).ideal);
    }
    CHECK(of_pairs.conflicts() == 0);
    CHECK(of_halves.conflicts() == 0);
    CHECK(of_pairs.width(Space::global, Op::store) == (step == std::string("rope_04_float4") ? 16 : 4));
  }
}

TEST_CASE("rope_cache: the rotated keys are not stored twice, then 16 bytes per access") {
  const Size size{4, 8, 64, 1};
  const Claims two("rope_cache_01_two_kernels", size), fused("rope_cache_02_fused", size),
      eight("rope_cache_03_eight", size);
  const auto stored = [](const Claims& seen) { return seen.total(Space::global, Op::store).units; };
  CHECK(2 * stored(two) == 3 * stored(fused));
  CHECK(stored(eight) == stored(fused));
  CHECK(fused.store() == 2);
  CHECK(eight.store() == 16);
}

TEST_CASE("embedding: 4 sectors per request, then 16; rows of 64 floats fill half of a warp, or all of it") {
  for (const char* step : {"embedding_01_block_per_row", "embedding_02_warp_per_row"}) {
    CAPTURE(step);
    CHECK(Claims(step, {16, 50, 1024}).store() == 4);
  }
  for (const char* step : {"embedding_03_float4", "embedding_04_thread_per_float4"}) {
    CAPTURE(step);
    CHECK(Claims(step, {16, 50, 1024}).store() == 16);
    CHECK(Claims(step, {16, 50, 64}).store() == (step == std::string("embedding_03_float4") ? 8 : 16));
    CHECK(Claims(step, {16, 50, 1024}).width(Space::global, Op::store) == 16);
  }
}

TEST_CASE("embedding_grad: an atomic per element, or none; each row of the table is stored once") {
  const Size size{100, 40, 128};
  CHECK(Claims("embedding_grad_01_atomic", size).total(Space::global, Op::atomic).lanes == 100 * 128);
  for (const char* step : {"embedding_grad_02_segments", "embedding_grad_03_owner", "embedding_grad_04_float4"}) {
    const Claims seen(step, size);
    CAPTURE(step);
    CHECK(seen.total(Space::global, Op::atomic).lanes == 0);
    CHECK(seen.launches.back().total(Space::global, Op::store).units == 40 * 128 / 8);
    CHECK(seen.width(Space::global, Op::load) == (step == std::string("embedding_grad_04_float4") ? 16 : 8));
  }
}

TEST_CASE("add_2d: lanes down a column, then along a row") {
  CHECK(Claims("add_2d_01_rows_on_x", {128, 256}).load() == 32);
  CHECK(Claims("add_2d_02_columns_on_x", {128, 256}).load() == 4);
  CHECK(Claims("add_2d_03_loop_over_rows", {128, 256}).load() == 4);
}

TEST_CASE("copy_offset and copy_stride: what an offset and a stride cost") {
  const auto offset = [](std::size_t by) { return Claims("copy_offset_01_scalar", {1 << 14, by}).load(); };
  CHECK(offset(0) == 4);
  CHECK(offset(1) == 5);
  CHECK(offset(8) == 4);
  const auto stride = [](std::size_t by) { return Claims("copy_stride_01_scalar", {1 << 14, by}).load(); };
  CHECK(stride(1) == 4);
  CHECK(stride(2) == 8);
  CHECK(stride(8) == 32);
  CHECK(stride(32) == 32);
}

TEST_CASE("vec3_norm: 12 sectors per request, then 16 for 4 times the bytes, then 4") {
  const std::size_t n = 1 << 12;
  CHECK(Claims("vec3_norm_01_array_of_structs", {n}).load() == 12);
  const Claims padded("vec3_norm_02_padded", {n});
  CHECK(padded.load() == 16);
  CHECK(padded.width(Space::global, Op::load) == 16);
  CHECK(Claims("vec3_norm_03_structure_of_arrays", {n}).load() == 4);
  const Claims shared("vec3_norm_04_shared", {n});
  CHECK(shared.load() == 16);
  CHECK(shared.conflicts() == 0);
  const Claims shuffled("vec3_norm_05_shuffle", {n});
  CHECK(shuffled.load() == 16);
  CHECK(shuffled.total(Space::shared, Op::load).requests == 0);
}

TEST_CASE("quantize: each element is loaded twice by 4 bytes, then once by 16") {
  const Size size{3, 4096};
  for (const char* step : {"quantize_01_two_kernels", "quantize_02_block_per_row"}) {
    const Claims seen(step, size);
    CAPTURE(step);
    const auto first = seen.launches.front().total(Space::global, Op::load);
    CHECK(first.units == 4 * first.requests);
    CHECK(seen.store() == 1);  // 32 bytes
    const auto loads = seen.total(Space::global, Op::load).units;
    CHECK(loads >= 2 * 3 * 4096 / 8);
    CHECK(loads < 2.1 * 3 * 4096 / 8);  // also the scales, once per warp of step 01's second kernel
  }
  const Claims vector("quantize_03_vector", size);
  CHECK(vector.load() == 16);
  CHECK(vector.width(Space::global, Op::load) == 16);
  CHECK(vector.total(Space::global, Op::load).units == 3 * 4096 / 8);
}

TEST_CASE("quantize 04: each element is loaded once by 16 bytes, and twice where a row goes in parts") {
  for (const Size& size : {Size{4096, 16}, Size{64, 1024}, Size{9, 16384}, Size{3, 32768}}) {
    const Claims seen("quantize_04_by_shape", size);
    CAPTURE(size[1]);
    const auto load = seen.total(Space::global, Op::load);
    CHECK(seen.width(Space::global, Op::load) == 16);
    if (size[1] < 32768) CHECK(load.units == size[0] * size[1] / 8);
    if (size[1] == 32768) CHECK((load.units > size[0] * size[1] / 4 && load.units < 1.05 * size[0] * size[1] / 4));
    const auto store = seen.total(Space::global, Op::store);
    CHECK(store.units == store.ideal);
  }
}

TEST_CASE("lanes: a store and three loads of shared memory per round without conflicts, then none") {
  for (const char* step : {"lanes_01_block_barrier", "lanes_02_warp_barrier"}) {
    const Claims seen(step, {1 << 12});
    CAPTURE(step);
    CHECK(seen.shared_load() == 1);
    CHECK(seen.shared_store() == 1);
    CHECK(seen.total(Space::shared, Op::load).requests == 3 * seen.total(Space::shared, Op::store).requests);
  }
  const Claims shuffled("lanes_03_shuffle", {1 << 12});
  CHECK(shuffled.total(Space::shared, Op::load).requests == 0);
  CHECK(shuffled.total(Space::shared, Op::store).requests == 0);
}

TEST_CASE("divergence: 4 sectors per request, 8 where a warp takes every second element") {
  CHECK(Claims("divergence_01_per_lane", {1 << 12}).load() == 4);
  CHECK(Claims("divergence_02_per_half_warp", {1 << 12}).load() == 4);
  CHECK(Claims("divergence_03_per_warp", {1 << 12}).load() == 8);
  CHECK(Claims("divergence_04_one_path", {1 << 12}).load() == 4);
}

TEST_CASE("stage: 4, 8 and 16 sectors per request for copies of 4, 8 and 16 bytes, no bank conflicts") {
  const std::size_t n = 1 << 14;
  CHECK(Claims("stage_01_plain", {n}).load() == 4);
  CHECK(Claims("stage_02_cp_async_4", {n}).load() == 4);
  CHECK(Claims("stage_03_cp_async_8", {n}).load() == 8);
  for (const char* step : {"stage_04_cp_async_16", "stage_05_two_stages", "stage_06_pipeline", "stage_07_barrier",
                           "stage_08_group", "stage_09_producer_warp", "stage_11_pipeline_roles"}) {
    const Claims seen(step, {n});
    CAPTURE(step);
    CHECK(seen.load() == 16);
    CHECK(seen.shared_load() == 1);
    // The CPU backend's cuda::barrier counts with atomics, which have conflicts; a GPU has an instruction for it.
    const bool has_barriers = seen.total(Space::shared, Op::atomic).requests > 0;
    if (!has_barriers) CHECK(seen.conflicts() == 0);
  }
}

TEST_CASE("block_shape: sectors per request by the block's width") {
  const auto load = [](std::size_t width, std::size_t height) {
    return Claims("block_shape_01_scalar", {64, 128, width, height}).load();
  };
  CHECK(load(32, 1) == 4);
  CHECK(load(16, 2) == 4);
  CHECK(load(8, 4) == 4);
  CHECK(load(4, 8) == 8);
  CHECK(load(2, 16) == 16);
  CHECK(load(1, 32) == 32);
  CHECK(load(32, 8) == 4);
}
