// What the programs <name>_cpu.cpp have in common: one problem computed on the host in several ways, each checked
// against the reference of the kernels' problem, and timed.
#pragma once
#include "check.hpp"

#include <chrono>
#include <cstdio>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace ladder {

// What is wrong with output `buffer` of a case, if anything, after run(out), which must write all of it.
template <typename Run>
std::string problem_of(const Case& c, std::size_t buffer, const Run& run) {
  std::vector<float> out(c.buffers()[buffer].count, std::numeric_limits<float>::quiet_NaN());
  run(out.data());
  Comparison comparison(c, buffer, c.pattern().exact ? 0 : c.problem().tolerance(c.size()));
  comparison.compare(out.data(), 0, out.size());
  return comparison.verdict().problem();
}

// Uniform in [-1, 1).
inline std::vector<float> random_floats(std::size_t count, std::size_t buffer = 0) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(patterns::random(1, buffer, i, count));
  return all;
}

// The best of several runs, for about a second: whatever else the machine does only makes them slower. The first, which
// touches the pages, counts only if it takes so long that there is no other.
template <typename Run>
double best_ms(const Run& run) {
  constexpr int most_runs = 10;
  constexpr double enough_ms = 1000;
  double best = std::numeric_limits<double>::infinity(), total = 0;
  for (int k = 0; k < most_runs && total < enough_ms; ++k) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    best = k <= 1 ? ms : std::min(best, ms);
    total += ms;
  }
  return best;
}

// With how many threads `#pragma omp parallel` runs, in words.
inline std::string threads_in_words() {
#ifdef _OPENMP
  return std::to_string(omp_get_max_threads()) + " threads";
#else
  return "built without OpenMP";
#endif
}

}  // namespace ladder
