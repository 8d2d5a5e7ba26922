// For the families' tests of what their steps claim about memory accesses.
#pragma once
#include "catch.hpp"
#include "runner/trace_report.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace ladder {

// Counts over all launches of a step's traced run.
class Claims {
 public:
  using Space = cuda_emu::trace::Space;
  using Op = cuda_emu::trace::Op;
  using Counts = cuda_emu::trace::Counts;

  // Runs the step, such as "sum_04_interleaved_strided", unless it has run at this size before. Its result must be
  // right.
  Claims(const std::string& name, const Size& size) {
    static std::map<std::tuple<std::string, std::vector<std::size_t>, std::vector<float>>,
                    std::vector<cuda_emu::trace::Launch>>
        known;
    auto& traced = known[{name, size.dims, size.scalars}];
    if (traced.empty()) traced = run(name, size);
    launches = traced;
  }

  Counts total(Space space, Op op) const {
    Counts sum;
    for (const auto& launch : launches) sum += launch.total(space, op);
    return sum;
  }

  // Sectors or wavefronts per request; 0 if there are no requests.
  double per_request(Space space, Op op) const { return quotient(total(space, op).units, total(space, op).requests); }
  double load() const { return per_request(Space::global, Op::load); }
  double store() const { return per_request(Space::global, Op::store); }
  double shared_load() const { return per_request(Space::shared, Op::load); }
  double shared_store() const { return per_request(Space::shared, Op::store); }

  // Extra wavefronts due to bank conflicts, with neighbouring loads merged as nvcc does.
  std::uint64_t conflicts() const {
    std::uint64_t sum = 0;
    for (const Op op : {Op::store, Op::atomic}) {
      sum += total(Space::shared, op).units - total(Space::shared, op).ideal;
    }
    for (const auto& launch : launches) sum += launch.merged_shared_loads.units - launch.merged_shared_loads.ideal;
    return sum;
  }

  // Bytes per lane of the widest access of this kind.
  unsigned width(Space space, Op op) const {
    unsigned widest = 0;
    for (const auto& launch : launches) {
      for (const auto& access : launch.accesses) {
        if (access.space == space && access.op == op) widest = std::max(widest, access.width);
      }
    }
    return widest;
  }

  // Sectors or wavefronts per iteration of a loop, from the access with the most samples in the first launch.
  std::vector<unsigned> rounds(Space space, Op op) const {
    const cuda_emu::trace::Access* longest = nullptr;
    for (const auto& access : launches.front().accesses) {
      if (access.space != space || access.op != op) continue;
      if (longest == nullptr || access.samples.size() > longest->samples.size()) longest = &access;
    }
    REQUIRE(longest != nullptr);
    std::vector<unsigned> units;
    for (const auto& sample : longest->samples) units.push_back(sample.units);
    return units;
  }

  double lanes() const {
    std::uint64_t lane_steps = 0, warp_steps = 0;
    for (const auto& launch : launches) {
      lane_steps += launch.lane_steps;
      warp_steps += launch.warp_steps;
    }
    return quotient(lane_steps, warp_steps);
  }

  std::uint64_t divergent_branches() const {
    std::uint64_t sum = 0;
    for (const auto& launch : launches) sum += launch.divergent_branches;
    return sum;
  }

  std::vector<cuda_emu::trace::Launch> launches;

 private:
  static std::vector<cuda_emu::trace::Launch> run(const std::string& name, const Size& size) {
    const auto step = std::find_if(steps().begin(), steps().end(), [&](const Step& s) { return s.name == name; });
    INFO(name);
    REQUIRE(step != steps().end());
    const Case host(*step->problem, size, step->problem->patterns().front(), 1);
    Traced traced = trace_step(*step, host);
    REQUIRE(traced.verdict.problem() == "");
    REQUIRE(!traced.launches.empty());
    return std::move(traced.launches);
  }

  static double quotient(std::uint64_t a, std::uint64_t b) {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

}  // namespace ladder
