// Draws random shapes, chooses the steps to time at a shape, and checks a step at small shapes. Runs without a GPU,
// too.
#pragma once
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace ladder {

// Limits of the bytes that a random shape moves.
struct Traffic {
  double least, most;
};
constexpr Traffic kTimedTraffic{1e6, 4e9}, kCheckedTraffic{16, 1 << 15};

// Returns shape number `number` of a seed. Its traffic is log-uniform; the problem draws the lengths. It depends only
// on the kernel and the arguments, so a run can start at any number.
inline Size random_shape(const Problem& problem, std::uint64_t seed, std::size_t number, const Traffic& traffic) {
  std::uint64_t key = seed;
  for (const char* c = problem.kernel(); *c != '\0'; ++c) key = hash(key, static_cast<unsigned char>(*c), 0);
  Draw draw(hash(key, 0, number));
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    const double wanted = draw.log_uniform(traffic.least, traffic.most);
    const Size size = problem.random_size(draw, wanted);
    const double bytes = problem.bytes(size);
    if (bytes < traffic.least || bytes > traffic.most) continue;
    // Far below the wanted traffic all lengths are at their maximum; such a size would be drawn too often. If the
    // arithmetic limits it, it is accepted.
    if (bytes < wanted / 2 && problem.flops(size) < kMostRandomFlops / 4) continue;
    return size;
  }
  throw UsageError(std::string(problem.kernel()) + ": found no random size that moves " +
                   format("%.3g", traffic.least) + " to " + format("%.3g", traffic.most) + " bytes");
}

// Returns smaller versions of a size, the smallest first, then `size`. Each moves about 1/16 of the bytes of the next
// one; the greatest length is halved until it does. A step 16 times slower than the others is found at the first.
inline std::vector<Size> growing_sizes(const Problem& problem, const Size& size, double least_bytes = 1e6) {
  const std::vector<Dim> dims = problem.dims();
  std::vector<Size> sizes{size};
  while (problem.bytes(sizes.back()) > least_bytes) {
    Size smaller = sizes.back();
    while (problem.bytes(smaller) > problem.bytes(sizes.back()) / 16) {
      std::size_t greatest = 0;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const bool longer = smaller.dims[d] > smaller.dims[greatest] || dims[greatest].gpu_default == 0;
        if (dims[d].gpu_default > 0 && longer) greatest = d;
      }
      if (smaller.dims[greatest] <= 1) break;
      smaller.dims[greatest] /= 2;
    }
    if (smaller == sizes.back()) break;
    sizes.push_back(smaller);
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

// Returns the factor by which a run at `to` may take longer than one at `from`.
inline double growth(const Problem& problem, const Size& from, const Size& to) {
  const double bytes = problem.bytes(to) / std::max(problem.bytes(from), 1.0);
  return std::max(bytes, problem.flops(from) > 0 ? problem.flops(to) / problem.flops(from) : 0);
}

// Returns the time limit for an earlier step, from the top step's time. A step that would take longer is not run.
inline double slow_us(double top_us) { return std::max(4 * top_us, 2e4); }

// Returns true if an earlier step's first timing is close enough to the top step's to time both in turns.
inline bool is_near(double first_us, double top_us) { return first_us <= 1.3 * top_us; }

// The steps to time at a shape, the top step first, and the steps left out because they are slow or can't run, with the
// reason.
struct Choice {
  std::vector<const Step*> timed;
  std::vector<std::pair<const Step*, std::string>> left_out;
};

// first_us(step, size) returns the time of one run at `size`, the shape or a smaller one. A step with a CUDA error is
// among those timed: the check before the timing reports the error.
template <typename FirstUs>
Choice choose_steps(const Step& top, const Size& size, const FirstUs& first_us) {
  Choice choice{{&top}, {}};
  double top_us = 0;
  try {
    top_us = first_us(top, size);
  } catch (const CudaError&) {
    cudaGetLastError();
    return choice;
  }
  const std::vector<Size> sizes = growing_sizes(*top.problem, size);
  for (const Step& step : steps()) {
    if (&step == &top) continue;
    try {
      step.problem->buffers(size);
      double us = 0;
      bool slow = false;
      const std::size_t begin = step.is_vendor() ? sizes.size() - 1 : 0;
      for (std::size_t i = begin; i < sizes.size() && !slow; ++i) {
        if (i > begin) us *= growth(*top.problem, sizes[i - 1], sizes[i]);
        slow = i > begin && us > slow_us(top_us);
        if (!slow) us = first_us(step, sizes[i]);
      }
      if (slow) {
        choice.left_out.emplace_back(&step, "slow, would take some " + format("%.0f", us / 1e3) + " ms");
      } else if (step.is_vendor() || is_near(us, top_us)) {
        choice.timed.push_back(&step);
      }
    } catch (const CudaError&) {
      choice.timed.push_back(&step);
      cudaGetLastError();
    } catch (const std::exception& error) {
      choice.left_out.emplace_back(&step, error.what());  // the step or its library refuses the size
    }
  }
  return choice;
}

// Checks `step` at `count` small random shapes of `domain`, the instance of the problem that draws shapes for all
// steps. The kind of data, the offsets, the order of threads and the use of guard bands are random as well. `refused`
// counts the shapes that the step refuses.
inline Verdict check_random(const Step& step, const Problem& domain, std::uint64_t seed, std::size_t first,
                            std::size_t count, bool guarded, std::size_t* checks, std::size_t* refused = nullptr) {
  Verdict all;
  for (std::size_t number = first; number < first + count && all.ok(); ++number) {
    const Size size = random_shape(domain, seed, number, kCheckedTraffic);
    try {
      step.problem->buffers(size);
    } catch (const UsageError&) {
      if (refused) ++*refused;
      continue;
    }
    Draw draw(hash(seed, 1, number));
    const std::vector<Pattern> patterns = step.problem->patterns();
    const std::vector<std::string> orders = thread_orders(true);
    CheckPlan plan;
    plan.seed = seed + number;
    plan.guarded = plan.guarded && guarded;
    const Case host(*step.problem, size, patterns[draw.below(patterns.size())], plan.seed);
    const std::vector<Offsets> off = misalignments(host.buffers());
    const Offsets offsets = draw.coin() ? Offsets(0) : off[draw.below(off.size())];
    const Variation way{offsets, orders[draw.below(orders.size())], draw.coin() || !kEndsShow, draw.coin()};
    const Verdict one = check_way(step, host, way, plan, checks);
    all.worst = std::max(all.worst, one.worst);
    all.failure = one.failure;
    if (!all.ok()) all.failure->random_shape = static_cast<long>(number);
  }
  return all;
}

}  // namespace ladder
