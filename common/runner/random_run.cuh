// Times a kernel at a random shape: its top step, step 00, the ceiling, and the earlier steps of similar speed. GPU
// only.
#pragma once
#include "contest.cuh"
#include "progress.hpp"
#include "random.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace ladder {

inline Row left_out_row(const Step& step, const Size& size, const std::string& why) {
  Row row{&step, size, {}};
  row.checked = false;
  row.left_out = why;
  return row;
}

class RandomRun {
 public:
  RandomRun(const Device& device, std::uint64_t seed, bool guarded, Progress& progress)
      : device_(device), seed_(seed), guarded_(guarded), progress_(progress) {}

  // Returns rows for the steps that were timed or failed, the top step first, then for the steps left out, with the
  // reason. Throws UsageError if the shape does not fit into memory.
  std::vector<Row> run(const Step& top, const Size& size) {
    const Problem& problem = *top.problem;
    const std::string what = describe(problem, size);
    progress_.begin(problem.kernel(), "making inputs and answers, " + what, 0);
    const Case host(problem, size, problem.patterns().front(), seed_, true, kSampling);
    Places places(host, guarded_);
    Clock clock(device_);

    progress_.begin(problem.kernel(), "first timings, " + what, steps().size());
    const Choice choice = choose_steps(
        top, size, [&](const Step& step, const Size& part) { return first_us(step, part, places, clock); });
    std::vector<Row> rows;
    for (const Step* step : choice.timed) {
      rows.push_back({step, size, {}});
      rows.back().compared = share_compared(host);
    }
    check_rows(rows, host, seed_, places);
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
    // check again, on new data
    progress_.begin(problem.kernel(), "checking again, " + what, 0);
    const Case other(problem, size, problem.patterns().front(), seed_ + 1, true, kSampling);
    places.load(other);
    check_rows(rows, other, seed_ + 1, places);
    for (Row& row : rows) {
      if (!row.candidate.empty()) choose_again(row, places.arrays_of(*row.step));
    }
    for (const auto& [step, why] : choice.left_out) rows.push_back(left_out_row(*step, size, why));
    return rows;
  }

 private:
  // Limits the reference to about 0.25 s of host time, so that a shape takes 1 s with its timings.
  static constexpr Sampling kSampling{1e9, std::size_t{1} << 20};

  static double share_compared(const Case& host) {
    const auto [answered, all] = host.answered_and_all();
    return all == 0 ? 1 : static_cast<double>(answered) / static_cast<double>(all);
  }

  // Returns the time of one run with a cold L2. If `size` is smaller than the buffers, the run uses a part of them.
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

  // The case is made for the top step. A step with other answers or bounds, such as a library's, gets its own case.
  static void check_rows(std::vector<Row>& rows, const Case& host, std::uint64_t seed, Places& places) {
    for (Row& row : rows) {
      if (!row.verdict.ok()) continue;
      const Problem& problem = *row.step->problem;
      std::optional<Case> own;
      if (!host.holds_for(problem)) {
        own.emplace(problem, row.size, problem.patterns().front(), seed, true, kSampling);
        places.load(*own);
      }
      candidate_run() = {};
      const Verdict verdict = check(*row.step, places[problem.place()]);
      if (own) places.load(host);
      if (candidate_run().taken) row.candidate = candidate_run().taken;
      row.verdict.worst = std::max(row.verdict.worst, verdict.worst);
      row.verdict.failure = verdict.failure;
    }
  }

  // Records which candidate was chosen, and which two more measurements choose.
  static void choose_again(Row& row, const Arrays& arrays) {
    row.choices = {row.candidate};
    for (int i = 0; i < 2; ++i) {
      candidate_run() = {};
      candidate_run().again = true;
      row.step->problem->run(arrays, row.size);
      row.choices.push_back(candidate_run().taken);
    }
    candidate_run() = {};
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  const Device& device_;
  const std::uint64_t seed_;
  const bool guarded_;
  Progress& progress_;
};

}  // namespace ladder
