// Shared code of the host programs <name>_cpu.cpp: they compute a problem in several ways on the CPU, check each
// against the kernels' reference, and time it.
#pragma once
#include "check.hpp"

#include <chrono>
#include <cstdio>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace ladder {

// Calls run(out), which must write all of output `buffer`. Returns what is wrong with the result; empty if nothing is.
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

// Returns the minimum time of up to 10 runs, in about a second; other load on the machine only makes runs slower. The
// first run touches the pages. It counts only if no other run follows.
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

// Returns the number of threads that `#pragma omp parallel` uses, as text.
inline std::string threads_in_words() {
#ifdef _OPENMP
  return std::to_string(omp_get_max_threads()) + " threads";
#else
  return "built without OpenMP";
#endif
}

}  // namespace ladder
