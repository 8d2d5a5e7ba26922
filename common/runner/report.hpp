// What a run prints: a table for people, or one JSON object per step and size.
#pragma once
#include "check.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace ladder {

// One step at one size. Figures below 0 were not measured.
struct Row {
  const Step* step;
  Size size;
  Verdict verdict;
  double cold_us = -1, cold_spread = -1, warm_us = -1;
  double of_ceiling = -1;  // useful bytes per second over the ceiling kernel's
  double vs_vendor = -1;   // vendor's time over this step's
  std::vector<Figure> figures = {};
};

inline double gbps(const Row& row, double us) { return row.step->problem->bytes(row.size) / us * 1e-3; }
inline double tflops(const Row& row, double us) { return row.step->problem->flops(row.size) / us * 1e-6; }

inline const char* name_of(Ceiling ceiling) {
  return ceiling == Ceiling::copy ? "copy" : ceiling == Ceiling::read ? "read" : "link";
}

inline void print_json(const Row& row, const char* backend) {
  const Problem& problem = *row.step->problem;
  const std::vector<Dim> dims = problem.dims();
  std::printf("{\"family\": \"%s\", \"kernel\": \"%s\", \"step\": \"%s\", \"backend\": \"%s\", \"size\": {",
              problem.family(), problem.kernel(), row.step->id.c_str(), backend);
  const char* comma = "";
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (!is_shown(dims[d], row.size[d])) continue;
    std::printf("%s\"%s\": %zu", comma, dims[d].name, row.size[d]);
    comma = ", ";
  }
  std::printf("}, \"bytes\": %.0f", problem.bytes(row.size));
  if (problem.flops(row.size) > 0) std::printf(", \"flops\": %.0f", problem.flops(row.size));
  if (row.cold_us >= 0) {
    std::printf(", \"cold_us\": %.2f, \"cold_spread\": %.4f", row.cold_us, row.cold_spread);
    if (row.warm_us >= 0) std::printf(", \"warm_us\": %.2f", row.warm_us);
    std::printf(", \"gbps\": %.1f", gbps(row, row.cold_us));
    if (problem.flops(row.size) > 0) std::printf(", \"tflops\": %.3f", tflops(row, row.cold_us));
  }
  if (row.of_ceiling >= 0) std::printf(", \"of_ceiling\": %.4f", row.of_ceiling);
  if (row.vs_vendor >= 0) std::printf(", \"vs_vendor\": %.4f", row.vs_vendor);
  comma = ", \"figures\": {";
  for (const Figure& figure : row.figures) {
    std::printf("%s\"%s\": %.6g", comma, figure.name, figure.value);
    comma = ", ";
  }
  if (!row.figures.empty()) std::printf("}");
  std::printf(", \"max_error_over_bound\": %.4g, \"verified\": %s}\n", row.verdict.worst,
              row.verdict.ok() ? "true" : "false");
}

inline int name_width(const std::vector<Row>& rows) {
  std::size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.step->name.size());
  return static_cast<int>(width);
}

// Rates above what the memory can deliver come from the cache, and say so.
inline std::string rate(const Row& row, double us, double dram_gbps) {
  const double value = gbps(row, us);
  return format("%.0f", value) + (value > dram_gbps ? " (L2)" : "");
}

// The rows of one size. `dram_gbps` is the device's theoretical peak.
inline void print_table(const std::vector<Row>& rows, const std::string& device, double dram_gbps) {
  const Problem& problem = *rows.front().step->problem;
  const int width = name_width(rows);
  const bool timed = rows.front().cold_us >= 0;
  std::printf("%s, %s\n", device.c_str(), describe(problem, rows.front().size).c_str());
  if (timed) {
    std::printf("%-*s  %s %11s %8s %12s %9s %10s %12s %12s\n", width, "step", "check", "cold us", "spread", "GB/s",
                (std::string("of ") + name_of(problem.ceiling())).c_str(), "vs step 00", "warm us", "warm GB/s");
  }
  for (const Row& row : rows) {
    std::printf("%-*s  %s", width, row.step->name.c_str(), row.verdict.ok() ? "PASS" : "FAIL");
    if (row.cold_us >= 0) {
      std::printf("  %11.2f %7.1f%% %12s", row.cold_us, 100 * row.cold_spread,
                  rate(row, row.cold_us, dram_gbps).c_str());
      std::printf(" %9s", row.of_ceiling >= 0 ? (format("%.1f", 100 * row.of_ceiling) + "%").c_str() : "-");
      std::printf(" %10s", row.vs_vendor >= 0 ? (format("%.3f", row.vs_vendor) + "x").c_str() : "-");
      std::printf(" %12s %12s", row.warm_us >= 0 ? format("%.2f", row.warm_us).c_str() : "-",
                  row.warm_us >= 0 ? rate(row, row.warm_us, dram_gbps).c_str() : "-");
    }
    if (!row.verdict.ok()) std::printf("  %s", row.verdict.problem.c_str());
    std::printf("\n");
  }
  for (const Row& row : rows) {
    if (row.figures.empty()) continue;
    std::printf("%-*s ", width, row.step->name.c_str());
    for (const Figure& figure : row.figures) std::printf(" %s %.6g", figure.name, figure.value);
    std::printf("\n");
  }
}

}  // namespace ladder
