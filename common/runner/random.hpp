// Random shapes: which ones, which steps are worth timing at one, and a check of a step at small ones. Nothing here
// needs a GPU.
#pragma once
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace ladder {

// Bytes that a random shape moves, from ... to.
struct Traffic {
  double least, most;
};
constexpr Traffic kTimedTraffic{1e6, 4e9}, kCheckedTraffic{16, 1 << 15};

// Shape number `number` of a seed: its traffic is log-uniform, its lengths are as the problem has them. It depends on
// the kernel and these numbers alone, so a run can begin with any of them.
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
    // Far below what was wanted: the lengths end there, and would be drawn too often. Arithmetic may be what ends them.
    if (bytes < wanted / 2 && problem.flops(size) < kMostRandomFlops / 4) continue;
    return size;
  }
  throw UsageError(std::string(problem.kernel()) + ": found no random size that moves " +
                   format("%.3g", traffic.least) + " to " + format("%.3g", traffic.most) + " bytes");
}

// Smaller and smaller versions of a size, the smallest first, `size` last: each moves about 1/16 of the next one, with
// its greatest length the shorter. A step that takes 16 times as long as its fellows shows at the first.
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

// How much longer a run at `to` may take than one at `from`.
inline double growth(const Problem& problem, const Size& from, const Size& to) {
  const double bytes = problem.bytes(to) / std::max(problem.bytes(from), 1.0);
  return std::max(bytes, problem.flops(from) > 0 ? problem.flops(to) / problem.flops(from) : 0);
}

// An earlier step is not run at a shape where it would take longer than this, given the top step's time.
inline double slow_us(double top_us) { return std::max(4 * top_us, 2e4); }

// Is an earlier step near enough to the top step, after a first timing of both, to be timed beside it?
inline bool is_near(double first_us, double top_us) { return first_us <= 1.3 * top_us; }

// The steps to time at a shape, the top step first, and those that cannot be or would take too long, with the reason.
struct Choice {
  std::vector<const Step*> timed;
  std::vector<std::pair<const Step*, std::string>> left_out;
};

// first_us(step, size): the time of one run at `size`, the shape or a smaller one. A CUDA error of a step puts it among
// those timed: the check before the timing will say what is wrong.
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
      choice.left_out.emplace_back(&step, error.what());  // the step refuses the size, or its library does
    }
  }
  return choice;
}

// A check of `step` at `count` small random shapes of `domain`, which is the same problem of whichever step. Of each
// the kind of data, where the buffers start, the order of threads and whether there are guard bands are random too. A
// shape that the step refuses counts in `refused`.
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
