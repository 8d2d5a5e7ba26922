// What every family's test program checks of every step that is linked into it.
#include "catch.hpp"
#include "runner/check.hpp"

#include <algorithm>
#include <map>
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

TEST_CASE("every step is right at every size, alignment and kind of data") {
  for (const Step& step : steps()) {
    DYNAMIC_SECTION(step.name) {
      CheckPlan plan;
      plan.sizes = step.problem->test_sizes();
      std::size_t checks = 0;
      CHECK(check_all(step, plan, &checks).problem == "");
      CHECK(checks >= 2 * plan.sizes.size());
    }
  }
}

// Hidden: needs a GPU with some 40 GB free and as much in the host. Inputs are made once for all steps of a kernel. One
// kernel: test_reduce "[huge]" -c max
TEST_CASE("indices beyond 32 bits", "[.][huge]") {
  std::map<std::string, std::vector<const Step*>> kernels;
  for (const Step& step : steps()) {
    if (!step.problem->huge_sizes().empty()) kernels[step.problem->kernel()].push_back(&step);
  }
  for (const auto& [kernel, rungs] : kernels) {
    DYNAMIC_SECTION(kernel) {
      const Problem& problem = *rungs.front()->problem;
      // On exact data, if there is any, one missing element in 2^31 shows; rounding would hide it.
      const std::vector<Pattern> patterns = problem.patterns();
      const auto exact = std::find_if(patterns.begin(), patterns.end(), [](const Pattern& p) { return p.exact; });
      const Pattern pattern = exact != patterns.end() ? *exact : patterns.front();
      // The same for all steps, unless the grid of one cannot be as large.
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
        const Case host(*able.front()->problem, size, pattern, 1);
        for (const Offsets& offsets : {Offsets(0), misalignments(host.buffers()).back()}) {
          DeviceCase device(host, offsets, true);
          for (const Step* step : able) {
            INFO(step->name << ", " << describe(problem, size) << ", " << pattern.name << " data, "
                            << describe(offsets, host.buffers()));
            CHECK(check(*step, device).problem == "");
          }
        }
      }
    }
  }
}
