// The tests that each kernel's test program runs, in a traced build, on every step linked into it.
#include "catch.hpp"
#include "runner/trace_report.hpp"

using namespace ladder;

namespace {

struct Sized {
  Size size;
  std::size_t offset;
};

// Returns the default size, aligned; all test sizes up to 1/64 of its bytes, which take no time, every other one
// misaligned; and the largest test size up to 1/8 of its bytes, misaligned.
std::vector<Sized> traced_sizes(const Problem& problem) {
  Size plain;
  for (const Dim& d : problem.dims()) plain.dims.push_back(d.cpu_default);
  for (const Scalar& s : problem.scalars()) plain.scalars.push_back(s.default_value);
  const double most = problem.bytes(plain) / 8;
  std::vector<Sized> sizes{{plain, 0}};
  Size largest;
  double bytes = 0;
  for (const Size& size : problem.test_sizes()) {
    if (problem.bytes(size) > most) continue;
    if (problem.bytes(size) <= most / 8) sizes.push_back({size, sizes.size() % 2});
    if (problem.bytes(size) <= bytes) continue;
    bytes = problem.bytes(size);
    largest = size;
  }
  if (bytes > 0) sizes.push_back({largest, 1});
  return sizes;
}

}  // namespace

TEST_CASE("no step races, or reads what no array holds") {
  for (const Step& step : steps()) {
    DYNAMIC_SECTION(step.name) {
      std::size_t accesses = 0;
      for (const auto& [size, offset] : traced_sizes(*step.problem)) {
        INFO(describe(*step.problem, size));
        const Case host(*step.problem, size, step.problem->patterns().front(), 1);
        const Traced traced = trace_step(step, host, offset, true);
        CHECK(to_text(step, traced) == step.name + ": PASS");
        for (const auto& launch : traced.launches) accesses += launch.accesses.size();
      }
      const bool moves_by_copies = std::string(step.problem->kernel()) == "memory";
      CHECK((accesses > 0 || moves_by_copies));
    }
  }
}
