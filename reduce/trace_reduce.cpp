// Tests of the memory accesses that the steps of this folder claim to make.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

namespace {

constexpr std::size_t kN = 1 << 16;

}  // namespace

TEST_CASE("sum: every load is coalesced, by 4 bytes first, by 16 from step 09 on") {
  for (const Step& step : steps()) {
    // in step 02 only every second, fourth, eighth, ... lane loads
    if (step.problem->kernel() != std::string("sum") || step.id == "02_global_tree") continue;
    const Claims seen(step.name, {kN});
    CAPTURE(step.name);
    const bool wide = step.id >= "09";
    CHECK(seen.width(Space::global, Op::load) == (wide ? 16 : 4));
    const auto loads = seen.launches.front().total(Space::global, Op::load);
    CHECK(loads.units == loads.ideal);
    CHECK(loads.units >= kN / 8);
  }
}

TEST_CASE("sum: rounds of the tree") {
  const auto rounds = [](const char* step) { return Claims(step, {kN}).rounds(Space::shared, Op::load); };
  CHECK(rounds("sum_03_interleaved_divergent") == std::vector<unsigned>(8, 1));
  CHECK(rounds("sum_04_interleaved_strided") == std::vector<unsigned>{2, 4, 8, 8, 8, 4, 2, 1});
  CHECK(rounds("sum_05_sequential") == std::vector<unsigned>(8, 1));
}

TEST_CASE("sum: a tree in global memory, then in shared memory") {
  const Claims global("sum_02_global_tree", {kN}), shared("sum_03_interleaved_divergent", {kN});
  CHECK(global.total(Space::shared, Op::load).requests == 0);
  // the number of loads is the same, but the loads of the tree are in shared memory
  const auto loads = [](const Claims& seen, Space space) { return seen.total(space, Op::load).requests; };
  CHECK(loads(global, Space::global) == loads(shared, Space::global) + loads(shared, Space::shared));
}

TEST_CASE("sum: who has bank conflicts, who diverges") {
  const Claims divergent("sum_03_interleaved_divergent", {kN}), strided("sum_04_interleaved_strided", {kN}),
      sequential("sum_05_sequential", {kN}), shuffled("sum_08_warp_shuffle", {kN});
  CHECK(divergent.conflicts() == 0);
  CHECK(strided.conflicts() > 0);
  CHECK(sequential.conflicts() == 0);
  CHECK(divergent.divergent_branches() > 4 * strided.divergent_branches());
  const auto shared_requests = [](const Claims& seen) {
    return seen.total(Space::shared, Op::load).requests + seen.total(Space::shared, Op::store).requests;
  };
  CHECK(shared_requests(shuffled) < shared_requests(sequential) / 2);
}

// An H200 counts the same in the first of three launches, where nvcc merges the two loads of the first round into one
// of 8 bytes.
TEST_CASE("sum: wavefronts of the interleaved tree, as on a GPU") {
  const Claims seen("sum_04_interleaved_strided", {1'050'001});
  REQUIRE(seen.launches.size() == 3);
  CHECK(seen.launches.front().merged_shared_loads.requests == 86'142);
  CHECK(seen.launches.front().merged_shared_loads.units == 356'874);
}

TEST_CASE("sum: an atomic for each element, for each block, or none") {
  const auto atomics = [](const char* step) { return Claims(step, {kN}).total(Space::global, Op::atomic); };
  CHECK(atomics("sum_01_atomic").lanes == kN);
  CHECK(atomics("sum_08_warp_shuffle").lanes == 0);
  const Claims last_block("sum_11_last_block", {kN});
  CHECK(last_block.total(Space::global, Op::atomic).lanes == last_block.launches.front().grid.x);
}

TEST_CASE("row_sum: lanes in different rows, then in one") {
  CHECK(Claims("row_sum_01_thread_per_row", {256, 128}).load() == 32);
  CHECK(Claims("row_sum_02_warp_per_row", {256, 128}).load() == 4);
}

TEST_CASE("col_sum: every load is coalesced, then by float4; a matrix of 8 columns fills a sector, then a warp") {
  const auto sectors = [](const char* step, const Size& size) {
    const Claims seen(step, size);
    CAPTURE(step, size[1]);
    CHECK(seen.conflicts() == 0);
    const auto load = seen.launches.front().total(Space::global, Op::load);
    CHECK(load.units == size[0] * size[1] / 8);
    return static_cast<double>(load.units) / static_cast<double>(load.requests);
  };
  for (const char* step : {"col_sum_01_thread_per_column", "col_sum_02_tile", "col_sum_03_two_phases"}) {
    CHECK(sectors(step, {512, 256}) == 4);
    CHECK(sectors(step, {512, 8}) == 1);
  }
  CHECK(sectors("col_sum_04_float4", {512, 256}) == 16);
  CHECK(sectors("col_sum_04_float4", {512, 8}) == 1);
  CHECK(sectors("col_sum_05_narrow", {512, 256}) == 16);
  CHECK(sectors("col_sum_05_narrow", {4096, 8}) == 16);
}

TEST_CASE("layer_norm_grad: x and dy are loaded three times, twice, then once; at last by float4") {
  const auto claim = [](const char* step, double arrays, unsigned width) {
    CAPTURE(step);
    const Size size({64, 1024});
    const Claims seen(step, size);
    const auto moved = [&](Op op) { return seen.total(Space::global, op).bytes_moved / (4.0 * size[0] * size[1]); };
    // gamma is loaded twice per row; the rest is mean and rstd
    CHECK(moved(Op::load) >= arrays + 2);
    CHECK(moved(Op::load) < arrays + 2 + 0.7);
    CHECK(seen.width(Space::global, Op::store) == width);
    CHECK(seen.conflicts() == 0);
  };
  claim("layer_norm_grad_01_two_kernels", 6, 4);
  claim("layer_norm_grad_02_two_phases", 6, 4);
  const double partials = 1;  // 32 blocks, two rows each
  claim("layer_norm_grad_03_fused", 4 + partials, 4);
  claim("layer_norm_grad_04_registers", 2 + partials, 4);
  claim("layer_norm_grad_05_float4", 2 + partials, 16);
}

TEST_CASE("batch_norm: x is read three times, twice, then once") {
  const auto reads = [](const char* step, const Size& size) {
    const Claims seen(step, size);
    return seen.total(Space::global, Op::load).bytes_moved / (4.0 * size[0] * size[1] * size[2]);
  };
  const auto claim = [&](const char* step, int times) {
    CAPTURE(step);
    const double found = reads(step, {{4, 3, 1024}, {1e-5f}});
    CHECK(found >= times);
    CHECK(found < times + 0.2);
  };
  claim("batch_norm_01_two_passes", 3);
  claim("batch_norm_02_welford", 2);
  claim("batch_norm_03_slices", 2);
  claim("batch_norm_04_batches", 2);
  claim("batch_norm_05_shared", 1);
}

TEST_CASE("layer_norm: lanes in 32 rows, then along one, then by float4") {
  const Size size({64, 1024}, {1e-5f});
  CHECK(Claims("layer_norm_01_thread_per_row", size).store() == 32);
  for (const char* step : {"layer_norm_02_block_per_row", "layer_norm_03_warp_per_row", "layer_norm_04_one_pass",
                           "layer_norm_05_welford"}) {
    CAPTURE(step);
    CHECK(Claims(step, size).store() == 4);
  }
  CHECK(Claims("layer_norm_06_registers", size).store() == 16);
}

TEST_CASE("layer_norm: x is read three times, then twice, then once; gamma and beta by every row") {
  const Size size({64, 1024}, {1e-5f});
  const auto reads = [&](const char* step) {
    return Claims(step, size).total(Space::global, Op::load).bytes_moved / (4.0 * size[0] * size[1]) - 2;
  };
  CHECK(reads("layer_norm_03_warp_per_row") == 3);
  CHECK(reads("layer_norm_04_one_pass") == 2);
  CHECK(reads("layer_norm_05_welford") == 2);
  CHECK(reads("layer_norm_06_registers") == 1);
  CHECK(reads("layer_norm_07_shared") == 1);
  CHECK(reads("layer_norm_any_shape") == 1);
}

TEST_CASE("layer_norm: very short rows pass through shared memory as float4") {
  const Size thin({4096, 4}, {1e-5f});
  CHECK(Claims("layer_norm_01_thread_per_row", thin).store() == 16);  // for 128 bytes
  CHECK(Claims("layer_norm_any_shape", thin).store() == 16);          // for 512
}

TEST_CASE("layer_norm: the row in shared memory has no bank conflicts") {
  CHECK(Claims("layer_norm_07_shared", Size({64, 2048}, {1e-5f})).conflicts() == 0);
}

TEST_CASE("scan: Blelloch's rounds have bank conflicts, which padding takes away") {
  const auto rounds = [](const char* step) { return Claims(step, {512, 0}).rounds(Space::shared, Op::store); };
  CHECK(rounds("scan_03_blelloch") == std::vector<unsigned>{2, 4, 8, 16, 16, 8, 4, 2, 1});
  CHECK(rounds("scan_04_blelloch_padded") == std::vector<unsigned>(9, 1));
  CHECK(Claims("scan_04_blelloch_padded", {kN, 0}).conflicts() == 0);
}

TEST_CASE("scan: x is read twice, from step 08 on once") {
  const auto bytes = [](const char* step) {
    return Claims(step, {kN, 0}).total(Space::global, Op::load).bytes_requested;
  };
  CHECK(bytes("scan_07_float4") > 8 * kN);
  CHECK(bytes("scan_10_items_per_thread") < 4.1 * kN);
}

TEST_CASE("compact: an atomic for each kept element, for each warp, for each block, or none") {
  const auto atomics = [](const char* step) { return Claims(step, {kN}).total(Space::global, Op::atomic).lanes; };
  const auto kept = atomics("compact_01_atomic");
  CHECK((kept > 0.49 * kN && kept < 0.51 * kN));
  CHECK(atomics("compact_02_ballot") == kN / 32);
  CHECK(atomics("compact_03_coalesced_group") == kN / 32);
  CHECK(atomics("compact_04_per_block") == kN / 256);
  CHECK(atomics("compact_05_scan") == 0);
}

TEST_CASE("compact: step 05 reads x twice; sectors of the stores") {
  const auto read = [](const char* step) {
    return Claims(step, {kN}).total(Space::global, Op::load).bytes_requested / 4.0 / kN;
  };
  CHECK(read("compact_05_scan") >= 2);
  CHECK(read("compact_06_look_back") < 1.1);
  CHECK(read("compact_08_items_per_thread") < 1.1);
  // Half of kN floats fill kN / 16 sectors.
  const auto sectors = [](const char* step) {
    return Claims(step, {kN}).total(Space::global, Op::store).units / (kN / 16.0);
  };
  CAPTURE(sectors("compact_04_per_block"), sectors("compact_06_look_back"), sectors("compact_08_items_per_thread"));
  CHECK(sectors("compact_06_look_back") > 3);
  CHECK(sectors("compact_08_items_per_thread") < 1.5);
}

TEST_CASE("histogram: an atomic in memory for each byte, or for each counter of a block") {
  const auto atomics = [](const char* step) { return Claims(step, {kN}).total(Space::global, Op::atomic).lanes; };
  CHECK(atomics("histogram_01_atomic") == kN);
  CHECK(atomics("histogram_02_per_block") < kN);
  CHECK(Claims("histogram_04_uint4", {kN}).width(Space::global, Op::load) == 16);
}

TEST_CASE("histogram: lanes meet in a bank, unless each has its own copy") {
  const auto turns = [](const char* step) {
    const auto atomics = Claims(step, {kN}).total(Space::shared, Op::atomic);
    return static_cast<double>(atomics.units) / static_cast<double>(atomics.requests);
  };
  CAPTURE(turns("histogram_04_uint4"), turns("histogram_06_per_lane"));
  CHECK(turns("histogram_04_uint4") > 3);
  CHECK(turns("histogram_06_per_lane") == 1);
  CHECK(turns("histogram_07_loads_in_flight") == 1);
}

TEST_CASE("top_k: k reads of the row, one, two, and one with the groups that are read again") {
  const auto reads = [](const char* step, std::size_t k, unsigned width) {
    const Size size{2, 16384, k};
    const Claims seen(step, size);
    CAPTURE(step);
    CHECK(seen.width(Space::global, Op::load) == width);
    return static_cast<double>(seen.total(Space::global, Op::load).units) / (2 * 16384 / 8);
  };
  const auto near = [](double reads, double want) { return reads >= want && reads < 1.05 * want; };
  CHECK(near(reads("top_k_01_repeated_max", 8, 4), 8));
  CHECK(near(reads("top_k_02_list_per_thread", 8, 4), 1));
  CHECK(near(reads("top_k_03_warp_list", 8, 4), 1));
  CHECK(reads("top_k_04_radix_select", 8, 4) > 2.9);
  CHECK(near(reads("top_k_05_bound_first", 8, 4), 2));
  CHECK(near(reads("top_k_06_groups", 8, 16), 1 + 8 * 256 / 16384.0));
}

TEST_CASE("moe_route: rows apart, then along a row; three kernels, then two") {
  const Size size{512, 64, 4};
  for (const auto& [step, sectors, launches] :
       {std::tuple<const char*, std::size_t, std::size_t>{"moe_route_01_thread_per_expert", 32, 2},
        {"moe_route_02_bits", 32, 3},
        {"moe_route_03_stage", 4, 3}}) {
    const Claims seen(step, size);
    CAPTURE(step);
    CHECK(seen.launches.size() == launches);
    CHECK(seen.launches.front().total(Space::global, Op::load).units == 512 * 64 / 32 * sectors);
  }
  const auto staged = Claims("moe_route_03_stage", size).launches.front().total(Space::shared, Op::load);
  CHECK(staged.units == staged.requests);  // no bank conflicts
  const Claims last("moe_route_04_look_back", size);
  CHECK(last.launches.size() == 2);
}

TEST_CASE("nms: a byte for each pair, then a bit, then flags alone") {
  constexpr std::size_t n = 512;
  const Size size({n}, {0.5f});
  const auto stored = [&](const char* step) {
    return Claims(step, size).total(Space::global, Op::store).bytes_requested;
  };
  CHECK(stored("nms_01_matrix") >= n * (n - 1) / 2);
  CHECK(stored("nms_02_bit_mask") == n * n / 8);
  CHECK(stored("nms_03_one_block") < n * n / 8);  // only the upper triangle, and flags
  CHECK(stored("nms_05_tiles_in_turn") == n);
  for (const char* step : {"nms_02_bit_mask", "nms_03_one_block", "nms_04_word_by_word", "nms_05_tiles_in_turn"}) {
    CAPTURE(step);
    CHECK(Claims(step, size).conflicts() == 0);
  }
}

TEST_CASE("sort: stores are scattered until the tile is sorted; step 05 reads the keys once a pass") {
  const auto store = [](const char* step) {
    const auto stores = Claims(step, {kN}).total(Space::global, Op::store);
    return static_cast<double>(stores.units) / static_cast<double>(stores.requests);
  };
  CAPTURE(store("sort_03_radix"), store("sort_04_exchange"));
  CHECK(store("sort_03_radix") > 25);
  CHECK(store("sort_04_exchange") < 8);
  CHECK(store("sort_05_look_back") < 8);
  const auto read = [](const char* step) {
    return Claims(step, {kN}).total(Space::global, Op::load).bytes_requested / (4.0 * kN);
  };
  CAPTURE(read("sort_03_radix"), read("sort_04_exchange"), read("sort_05_look_back"));
  CHECK(read("sort_03_radix") > 16);
  CHECK((read("sort_04_exchange") > 12 && read("sort_04_exchange") < 13));
  CHECK((read("sort_05_look_back") > 9 && read("sort_05_look_back") < 11));
}
