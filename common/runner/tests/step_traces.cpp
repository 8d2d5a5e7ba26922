// What every kernel's test program demands, in a traced build, of every step that is linked into it.
#include "catch.hpp"
#include "runner/trace_report.hpp"

using namespace ladder;

namespace {

// The size of a plain run, and the largest of the tests' sizes that is a good deal smaller: with edges of its own.
std::vector<Size> traced_sizes(const Problem& problem) {
  Size plain;
  for (const Dim& d : problem.dims()) plain.dims.push_back(d.cpu_default);
  for (const Scalar& s : problem.scalars()) plain.scalars.push_back(s.default_value);
  const double most = problem.bytes(plain) / 8;
  Size small;
  double bytes = 0;
  for (const Size& size : problem.test_sizes()) {
    if (problem.bytes(size) <= bytes || problem.bytes(size) > most) continue;
    bytes = problem.bytes(size);
    small = size;
  }
  return bytes > 0 ? std::vector<Size>{plain, small} : std::vector<Size>{plain};
}

}  // namespace

TEST_CASE("no step races") {
  for (const Step& step : steps()) {
    DYNAMIC_SECTION(step.name) {
      std::size_t accesses = 0;
      for (const Size& size : traced_sizes(*step.problem)) {
        INFO(describe(*step.problem, size));
        const Case host(*step.problem, size, step.problem->patterns().front(), 1);
        for (const std::size_t offset : {0, 1}) {
          const Traced traced = trace_step(step, host, offset, true);
          CHECK(to_text(step, traced) == step.name + ": PASS");
          for (const auto& launch : traced.launches) accesses += launch.accesses.size();
        }
      }
      const bool moves_by_copies = std::string(step.problem->kernel()) == "memory";
      CHECK((accesses > 0 || moves_by_copies));
    }
  }
}
