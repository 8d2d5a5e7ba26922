// The tests that each kernel's test program runs on every step linked into it.
#include "catch.hpp"
#include "runner/places.hpp"
#include "runner/random.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

using namespace ladder;

TEST_CASE("steps are registered under their file's names") {
  std::set<std::string> names;
  REQUIRE(!steps().empty());
  for (const Step& step : steps()) {
    CHECK(names.insert(step.name).second);
    CHECK(step.name == step.problem->kernel() + ("_" + step.id));
  }
}

namespace {

void check_steps(bool in_turns) {
  for (const Step& step : steps()) {
    DYNAMIC_SECTION(step.name) {
      CheckPlan plan;
      plan.sizes = step.problem->test_sizes();
      plan.in_turns = in_turns;
      std::size_t checks = 0;
      CHECK(check_all(step, plan, &checks).problem() == "");
      CHECK(checks >= 2 * plan.sizes.size());
    }
  }
}

}  // namespace

// The lines and accesses that a step executes depend on sizes and misalignments, seldom on the kind of data, so the
// kinds take turns. A step's --check, the planted bugs' tests and the long test below combine all of them.
TEST_CASE("every step is right at every size, on kinds of data and misalignments in turn") { check_steps(true); }
TEST_CASE("every step is right at every size, on every kind of data", "[.][full]") { check_steps(false); }

namespace {

// Returns the kernels linked in, each with its last step, whose domain is used for the kernel.
std::map<std::string, const Step*> last_steps() {
  std::map<std::string, const Step*> last;
  for (const Step& step : steps()) {
    const Step*& one = last[step.problem->kernel()];
    if (one == nullptr || step.name > one->name) one = &step;
  }
  return last;
}

}  // namespace

TEST_CASE("every step is right at random shapes, on random data, anywhere in memory") {
  const std::map<std::string, const Step*> last = last_steps();
  for (const Step& step : steps()) {
    INFO(step.name);
    std::size_t checks = 0, refused = 0;
    constexpr std::size_t shapes = 12;
    CHECK(check_random(step, *last.at(step.problem->kernel())->problem, 1, 0, shapes, true, &checks, &refused)
              .problem() == "");
    CHECK(checks + refused >= shapes);
    CHECK(checks > 0);
  }
}

TEST_CASE("random shapes are from the problem's domain, and are of all kinds") {
  constexpr std::size_t draws = 300;
  for (const auto& [kernel, step] : last_steps()) {
    INFO(kernel);
    const Problem& problem = *step->problem;
    const std::vector<Dim> dims = problem.dims();
    std::vector<std::size_t> odd(dims.size(), 0), given(dims.size(), 0);
    std::size_t large = 0;
    for (const Traffic& traffic : {kTimedTraffic, kCheckedTraffic}) {
      for (std::size_t number = 0; number < draws; ++number) {
        const Size size = random_shape(problem, 7, number, traffic);
        INFO(describe(problem, size));
        REQUIRE(size.dims.size() == dims.size());
        REQUIRE(size.scalars.size() == problem.scalars().size());
        for (std::size_t d = 0; d < dims.size(); ++d) {
          REQUIRE(size[d] <= dims[d].max);
          if (dims[d].gpu_default > 0) REQUIRE(size[d] >= 1);
          if (traffic.most < kTimedTraffic.least) continue;
          odd[d] += size[d] % 2;
          given[d] += size[d] > 0;
        }
        REQUIRE(problem.bytes(size) >= traffic.least);
        REQUIRE(problem.bytes(size) <= traffic.most);
        REQUIRE(problem.flops(size) <= kMostRandomFlops);
        const std::vector<Buffer> buffers = problem.buffers(size);
        double memory = 0;
        for (const Buffer& buffer : buffers) memory += static_cast<double>(buffer.bytes());
        REQUIRE(memory < 40 * traffic.most);
        if (traffic.most < kTimedTraffic.least) continue;
        large += problem.bytes(size) > std::sqrt(traffic.least * traffic.most);
        // A step is first timed at smaller sizes, on parts of the buffers.
        const std::vector<Size> growing = growing_sizes(problem, size);
        REQUIRE(growing.back() == size);
        for (std::size_t i = 0; i < growing.size(); ++i) {
          const std::vector<Buffer> parts = problem.buffers(growing[i]);
          for (std::size_t b = 0; b < buffers.size(); ++b) REQUIRE(parts[b].count <= buffers[b].count);
          if (i > 0) REQUIRE(problem.bytes(growing[i - 1]) <= problem.bytes(growing[i]) / 15);
        }
      }
    }
    CHECK(large > draws / 5);
    CHECK(large < draws * 4 / 5);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      INFO(dims[d].name);
      // Skip a dimension with few values, such as conv2d's k, which is odd.
      if (given[d] == 0 || (dims[d].gpu_default == 0 && dims[d].max <= 256)) continue;
      CHECK(odd[d] > given[d] * 2 / 5);
      CHECK(odd[d] < given[d] * 7 / 10);
      if (dims[d].gpu_default > 0) continue;
      CHECK(given[d] > draws * 2 / 5);  // half of the leading dimensions equal the rows' length
      CHECK(given[d] < draws * 3 / 5);
    }
  }
}

// Hidden: needs a GPU with about 40 GB free, and as much host memory. Inputs are made once for all steps of a kernel.
// To run it for one kernel: test_<kernel> "[huge]".
TEST_CASE("indices beyond 32 bits", "[.][huge]") {
  std::map<std::string, std::vector<const Step*>> kernels;
  for (const Step& step : steps()) {
    if (!step.problem->huge_sizes().empty()) kernels[step.problem->kernel()].push_back(&step);
  }
  for (const auto& [kernel, rungs] : kernels) {
    DYNAMIC_SECTION(kernel) {
      const Problem& problem = *rungs.front()->problem;
      // Exact data, if the problem has any: one missing element in 2^31 shows, while a rounding bound would hide it.
      const std::vector<Pattern> patterns = problem.patterns();
      const auto exact = std::find_if(patterns.begin(), patterns.end(), [](const Pattern& p) { return p.exact; });
      const Pattern pattern = exact != patterns.end() ? *exact : patterns.front();
      // All steps have the same sizes, unless a step's grid cannot be as large.
      std::vector<Size> sizes;
      for (const Step* step : rungs) {
        for (const Size& size : step->problem->huge_sizes()) {
          if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
        }
      }
      for (const Size& size : sizes) {
        std::vector<const Step*> able;
        for (const Step* step : rungs) {
          const std::vector<Size> own = step->problem->huge_sizes();
          if (std::find(own.begin(), own.end(), size) != own.end()) {
            able.push_back(step);
          } else {
            WARN("left out: " << step->name << ", " << describe(problem, size) << " is not one of its sizes");
          }
        }
        std::optional<Case> host;
        for (const Step* step : able) {
          if (!host || !host->holds_for(*step->problem)) host.emplace(*step->problem, size, pattern, 1);
          for (const Offsets& offsets : {Offsets(0), misalignments(host->buffers()).back()}) {
            Places places(*host, true, offsets);
            INFO(step->name << ", " << describe(problem, size) << ", " << pattern.name << " data, "
                            << describe(offsets, host->buffers()));
            CHECK(check_candidates(*step, places[step->problem->place()]).problem() == "");
          }
        }
      }
    }
  }
}
