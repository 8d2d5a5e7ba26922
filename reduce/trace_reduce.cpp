// What the ladders of this folder claim of their accesses.
#include "claims.hpp"

using namespace ladder;
using Space = Claims::Space;
using Op = Claims::Op;

namespace {

constexpr std::size_t kN = 1 << 16;

}  // namespace

TEST_CASE("sum: every load is coalesced, by 4 bytes first, by 16 from step 08 on") {
  for (const Step& step : steps()) {
    if (step.problem->kernel() != std::string("sum")) continue;
    const Claims seen(step.name, {kN});
    CAPTURE(step.name);
    const bool wide = step.id >= "08";
    CHECK(seen.width(Space::global, Op::load) == (wide ? 16 : 4));
    const auto loads = seen.launches.front().total(Space::global, Op::load);
    CHECK(loads.units == loads.ideal);
    CHECK(loads.units >= kN / 8);
  }
}

TEST_CASE("sum: rounds of the tree") {
  const auto rounds = [](const char* step) { return Claims(step, {kN}).rounds(Space::shared, Op::load); };
  CHECK(rounds("sum_02_interleaved_divergent") == std::vector<unsigned>(8, 1));
  CHECK(rounds("sum_03_interleaved_strided") == std::vector<unsigned>{2, 4, 8, 8, 8, 4, 2, 1});
  CHECK(rounds("sum_04_sequential") == std::vector<unsigned>(8, 1));
}

TEST_CASE("sum: who has bank conflicts, who diverges") {
  const Claims divergent("sum_02_interleaved_divergent", {kN}), strided("sum_03_interleaved_strided", {kN}),
      sequential("sum_04_sequential", {kN}), shuffled("sum_07_warp_shuffle", {kN});
  CHECK(divergent.conflicts() == 0);
  CHECK(strided.conflicts() > 0);
  CHECK(sequential.conflicts() == 0);
  CHECK(divergent.divergent_branches() > 4 * strided.divergent_branches());
  const auto shared_requests = [](const Claims& seen) {
    return seen.total(Space::shared, Op::load).requests + seen.total(Space::shared, Op::store).requests;
  };
  CHECK(shared_requests(shuffled) < shared_requests(sequential) / 2);
}

// Counted by an H200, too, for the first of three launches: nvcc joins the two loads of the first round into one of 8
// bytes.
TEST_CASE("sum: wavefronts of the interleaved tree, as on a GPU") {
  const Claims seen("sum_03_interleaved_strided", {1'050'001});
  REQUIRE(seen.launches.size() == 3);
  CHECK(seen.launches.front().merged_shared_loads.requests == 86'142);
  CHECK(seen.launches.front().merged_shared_loads.units == 356'874);
}

TEST_CASE("sum: an atomic for each element, for each block, or none") {
  const auto atomics = [](const char* step) { return Claims(step, {kN}).total(Space::global, Op::atomic); };
  CHECK(atomics("sum_01_atomic").lanes == kN);
  CHECK(atomics("sum_07_warp_shuffle").lanes == 0);
  const Claims last_block("sum_10_last_block", {kN});
  CHECK(last_block.total(Space::global, Op::atomic).lanes == last_block.launches.front().grid.x);
}

TEST_CASE("row_sum: lanes in different rows, then in one") {
  CHECK(Claims("row_sum_01_thread_per_row", {256, 128}).load() == 32);
  CHECK(Claims("row_sum_02_warp_per_row", {256, 128}).load() == 4);
}
