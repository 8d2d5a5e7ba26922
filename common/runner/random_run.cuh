// Times a kernel at one random shape: its top step, step 00, the ceiling, and the earlier steps that come near. GPU
// only.
#pragma once
#include "contest.cuh"
#include "progress.hpp"
#include "random.hpp"

#include <algorithm>
#include <exception>
#include <vector>

namespace ladder {

class RandomRun {
 public:
  RandomRun(const Device& device, std::uint64_t seed, bool guarded, Progress& progress)
      : device_(device), seed_(seed), guarded_(guarded), progress_(progress) {}

  // The rows of the steps that were timed, or failed, the top step first; and those of the steps left out, which say
  // why. Throws UsageError where the shape does not fit into memory.
  std::vector<Row> run(const Step& top, const Size& size) {
    std::vector<Row> left_out;
    const std::vector<const Step*> able = steps_that_take(size, left_out);
    const Problem& problem = *top.problem;
    const std::string what = describe(problem, size);
    progress_.begin(problem.kernel(), "making inputs and answers, " + what, 0);
    const Case host(problem, size, problem.patterns().front(), seed_, true, kSampling);
    Places places(host, guarded_);
    Clock clock(device_);

    std::vector<Row> rows;
    progress_.begin(problem.kernel(), "first timings, " + what, able.size());
    for (const Step* step : near_steps(top, able, size, places, clock, left_out)) {
      rows.push_back({step, size, {}});
      rows.back().compared = share_compared(host);
    }
    check_rows(rows, places);
    std::vector<Row*> right;
    std::vector<const Step*> timed;
    for (Row& row : rows) {
      if (!row.verdict.ok()) continue;
      right.push_back(&row);
      timed.push_back(row.step);
    }
    if (!timed.empty() && timed.front() == &top) {
      progress_.begin(problem.kernel(), "timing " + what, timed.size() + 1);
      StopRule rule;
      rule.least = 15;
      rule.most = 200;
      rule.error = 2e-3;
      rule.budget_us = 5e5 / static_cast<double>(timed.size() + 1);
      rule.least_ever = 1;
      constexpr bool warm = false;
      put_timings(right, timed, time_in_turns(timed, size, places, clock, device_, rule, warm));
    }
    // Still right, on data not seen before?
    progress_.begin(problem.kernel(), "checking again, " + what, 0);
    const Case other(problem, size, problem.patterns().front(), seed_ + 1, true, kSampling);
    places.load(other);
    check_rows(rows, places);
    rows.insert(rows.end(), left_out.begin(), left_out.end());
    return rows;
  }

 private:
  // Answers for about a second of the host's time.
  static constexpr Sampling kSampling{4e9, std::size_t{1} << 20};

  static double share_compared(const Case& host) {
    const auto [answered, all] = host.answered_and_all();
    return all == 0 ? 1 : static_cast<double>(answered) / static_cast<double>(all);
  }

  static Row left_out_row(const Step& step, const Size& size, const std::string& why) {
    Row row{&step, size, {}};
    row.checked = false;
    row.left_out = why;
    return row;
  }

  static std::vector<const Step*> steps_that_take(const Size& size, std::vector<Row>& left_out) {
    std::vector<const Step*> able;
    for (const Step& step : steps()) {
      try {
        step.problem->buffers(size);
        able.push_back(&step);
      } catch (const UsageError& error) {
        left_out.push_back(left_out_row(step, size, error.what()));
      }
    }
    return able;
  }

  // One run's time, with nothing of its data in L2. On a part of the buffers, if `size` is smaller than theirs.
  static double first_us(const Step& step, const Size& size, Places& places, Clock& clock) {
    const Arrays& arrays = places.arrays_of(step);
    const auto prepare = [&] { step.problem->prepare(arrays, size); };
    const auto run = [&] { step.problem->run(arrays, size); };
    prepare();
    run();  // loads the code, allocates scratch memory
    CUDA_CHECK(cudaDeviceSynchronize());
    bool waits = false;
    return clock.cold(prepare, run, waits).us;
  }

  // The top step, step 00, and the earlier steps that a first timing shows near the top step.
  std::vector<const Step*> near_steps(const Step& top, const std::vector<const Step*>& able, const Size& size,
                                      Places& places, Clock& clock, std::vector<Row>& left_out) {
    std::vector<const Step*> near{&top};
    double top_us = 0;
    try {
      top_us = first_us(top, size, places, clock);
    } catch (const CudaError&) {
      cudaGetLastError();
      return near;  // a check will say what is wrong
    }
    const std::vector<Size> sizes = growing_sizes(*top.problem, size);
    for (const Step* step : able) {
      if (step == &top) continue;
      try {
        double us = 0;
        const std::size_t begin = step->is_vendor() ? sizes.size() - 1 : 0;
        for (std::size_t i = begin; i < sizes.size(); ++i) {
          if (i > begin) us *= growth(*top.problem, sizes[i - 1], sizes[i]);
          if (i > begin && us > slow_us(top_us)) {
            left_out.push_back(left_out_row(*step, size, "slow, would take some " + format("%.0f", us / 1e3) + " ms"));
            break;
          }
          us = first_us(*step, sizes[i], places, clock);
        }
        if (step->is_vendor() || is_near(us, top_us)) near.push_back(step);
      } catch (const CudaError&) {
        near.push_back(step);  // a check will say what is wrong
        cudaGetLastError();
      } catch (const std::exception& error) {
        left_out.push_back(left_out_row(*step, size, error.what()));  // a library that does not take the size
      }
    }
    return near;
  }

  static void check_rows(std::vector<Row>& rows, Places& places) {
    for (Row& row : rows) {
      if (!row.verdict.ok()) continue;
      const Verdict verdict = check(*row.step, places[row.step->problem->place()]);
      row.verdict.worst = std::max(row.verdict.worst, verdict.worst);
      row.verdict.problem = verdict.problem;
    }
  }

  const Device& device_;
  const std::uint64_t seed_;
  const bool guarded_;
  Progress& progress_;
};

}  // namespace ladder
