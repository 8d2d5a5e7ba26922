// Prints results: a table, or one JSON object per step and size.
#pragma once
#include "check.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace ladder {

// Results of one step at one size. A timing without samples, or a ratio below 0, was not measured.
struct Row {
  const Step* step;
  Size size;
  Verdict verdict;
  Timing cold = {}, warm = {};
  double of_ceiling = -1;      // useful bytes per second over the ceiling's
  double vs_vendor = -1;       // step 00's time over this step's
  double warm_vs_vendor = -1;  // the same for warm times
  std::vector<Figure> figures = {};
  std::string remark = {};                // what the step did differently from its description
  std::string candidate = {};             // of a program for any shape: the candidate that ran
  std::vector<std::string> choices = {};  // at a random shape: the candidates chosen in three measurements
  bool checked = true;                    // if false, the verdict means nothing
  long shape = -1;                        // number of the random shape
  double compared = 1;                    // share of the results that were compared with expected values
  std::string left_out = {};              // why the step was not run
  std::size_t checks = 0;                 // number of checks, with --check
  std::size_t sizes_left = 0;
  std::vector<Remark> remarks = {};
  std::vector<std::string> reports = {};  // the CPU backend's, as JSON
};

inline double gbps(const Row& row, double us) { return row.step->problem->bytes(row.size) / us * 1e-3; }
inline double tflops(const Row& row, double us) { return row.step->problem->flops(row.size) / us * 1e-6; }

// Returns a row as one line of JSON.
inline std::string to_json(const Row& row, const char* backend) {
  const Problem& problem = *row.step->problem;
  const std::vector<Dim> dims = problem.dims();
  json::Object o, size;
  o.add_text("family", problem.family()).add_text("kernel", problem.kernel()).add_text("step", row.step->id);
  o.add_text("backend", backend);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (is_shown(dims[d], row.size[d])) size.add(dims[d].name, row.size[d]);
  }
  o.add_raw("size", size.str());
  if (row.shape >= 0) o.add("shape", row.shape);
  if (!row.left_out.empty()) return o.add_text("left_out", row.left_out).str();
  o.add_number("bytes", "%.0f", problem.bytes(row.size));
  const bool has_flops = problem.flops(row.size) > 0;
  if (has_flops) o.add_number("flops", "%.0f", problem.flops(row.size));
  if (row.cold.samples > 0) {
    o.add_number("cold_us", "%.2f", row.cold.median_us).add_number("cold_min_us", "%.2f", row.cold.min_us);
    if (row.cold.spread >= 0) o.add_number("cold_spread", "%.4f", row.cold.spread);
    o.add("samples", row.cold.samples);
    if (row.cold.sm_mhz > 0) o.add_number("sm_mhz", "%.0f", row.cold.sm_mhz);
    if (row.cold.throttled > 0) o.add("throttled", row.cold.throttled);
    if (row.warm.samples > 0) o.add_number("warm_us", "%.2f", row.warm.median_us);
    o.add_number("gbps", "%.1f", gbps(row, row.cold.median_us));
    if (has_flops) o.add_number("tflops", "%.3f", tflops(row, row.cold.median_us));
  }
  if (row.of_ceiling >= 0) o.add_number("of_ceiling", "%.4f", row.of_ceiling);
  if (row.vs_vendor >= 0) o.add_number("vs_vendor", "%.4f", row.vs_vendor);
  if (!row.figures.empty()) {
    json::Object figures;
    for (const Figure& figure : row.figures) figures.add_number(figure.name, "%.6g", figure.value);
    o.add_raw("figures", figures.str());
  }
  if (!row.candidate.empty()) o.add_text("candidate", row.candidate);
  if (!row.choices.empty()) o.add_raw("choices", json::list(row.choices, json::text));
  if (!row.remark.empty()) o.add_text("remark", row.remark);
  if (row.checked) {
    if (row.checks > 0) o.add("checks", row.checks);
    if (row.sizes_left > 0) o.add("sizes_left", row.sizes_left);
    o.add_number("max_error_over_bound", "%.4g", row.verdict.worst);
    if (row.compared < 1) o.add_number("compared", "%.3g", row.compared);
    o.add("verified", row.verdict.ok());
    if (!row.verdict.ok()) o.add_raw("failure", to_json(*row.verdict.failure));
    if (!row.remarks.empty()) {
      o.add_raw("remarks", json::list(row.remarks, [](const Remark& remark) {
                  json::Object r;
                  r.add_text("kind", remark.kind).add_text("lesson", remark.lesson);
                  return r.add_raw("failure", to_json(remark.failure)).str();
                }));
    }
    if (!row.reports.empty()) o.add_raw("reports", json::list(row.reports, [](const std::string& r) { return r; }));
  }
  return o.str();
}

inline int name_width(const std::vector<Row>& rows) {
  std::size_t width = 4;
  for (const Row& row : rows) width = std::max(width, row.step->name.size());
  return static_cast<int>(width);
}

// Peak rates of the device, from its attributes; 0 if the driver does not report them.
struct Peaks {
  double dram_gbps = 0, fp32_tflops = 0;
};

// Formats a rate. One above the DRAM bandwidth comes from the cache and is marked (L2).
inline std::string rate(const Row& row, double us, double dram_gbps) {
  const double value = gbps(row, us);
  return format("%.0f", value) + (dram_gbps > 0 && value > dram_gbps ? " (L2)" : "");
}

// Returns a line with the lower bound of the time on this device, and what the ceiling timed with the row reached.
inline std::string floor_line(const Row& row, const Peaks& peaks) {
  const Problem& problem = *row.step->problem;
  const double bytes = problem.bytes(row.size), flops = problem.flops(row.size);
  std::string line = "floor: " + format("%.1f", bytes / 1e6) + " MB";
  if (peaks.dram_gbps > 0) {
    line += " at " + format("%.0f", peaks.dram_gbps) + " GB/s, the memory's clock times its width, take " +
            format("%.1f", bytes / peaks.dram_gbps * 1e-3) + " us";
  }
  if (row.of_ceiling > 0) {
    const double us = row.of_ceiling * row.cold.median_us;
    line += std::string("; a ") + problem.ceiling_name() + " took " + format("%.1f", us) + " us, " +
            format("%.0f", gbps(row, us)) + " GB/s";
    if (peaks.dram_gbps > 0) line += ", " + format("%.0f", 100 * gbps(row, us) / peaks.dram_gbps) + "% of that";
  }
  if (flops > 0 && peaks.fp32_tflops > 0) {
    line += "; " + format("%.2f", flops / 1e9) + " GFLOP at " + format("%.1f", peaks.fp32_tflops) +
            " TFLOP/s, the peak without tensor cores, take " + format("%.1f", flops / peaks.fp32_tflops * 1e-6) + " us";
  }
  return line;
}

// Returns "1.234x", or "-" for a value below 0, which was not measured.
inline std::string ratio(double value) { return value >= 0 ? format("%.3f", value) + "x" : "-"; }

// Prints the rows of one size.
inline void print_table(const std::vector<Row>& rows, const std::string& device, const Peaks& peaks) {
  const Problem& problem = *rows.front().step->problem;
  const int width = name_width(rows);
  const auto timed = std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.cold.samples > 0; });
  std::printf("%s, %s\n", device.c_str(), describe(problem, rows.front().size).c_str());
  if (timed != rows.end()) {
    std::printf("%s\n", floor_line(*timed, peaks).c_str());
    std::printf("%-*s  %s %11s %11s %8s %4s %7s %12s %9s %10s %11s %12s %10s\n", width, "step", "check", "cold us",
                "min us", "spread", "n", "SM MHz", "GB/s", (std::string("of ") + problem.ceiling_name()).c_str(),
                "vs step 00", "warm us", "warm GB/s", "vs step 00");
  }
  std::size_t throttled = 0;
  for (const Row& row : rows) {
    const Timing &cold = row.cold, &warm = row.warm;
    std::printf("%-*s  %s", width, row.step->name.c_str(), row.verdict.ok() ? "PASS" : "FAIL");
    if (cold.samples > 0) {
      const std::string clock = cold.sm_mhz > 0 ? format("%.0f", cold.sm_mhz) + (cold.throttled ? "!" : "") : "-";
      throttled += cold.throttled;
      std::printf("  %11.2f %11.2f %8s %4zu %7s %12s", cold.median_us, cold.min_us,
                  cold.spread >= 0 ? (format("%.2f", 100 * cold.spread) + "%").c_str() : "-", cold.samples,
                  clock.c_str(), rate(row, cold.median_us, peaks.dram_gbps).c_str());
      std::printf(" %9s", row.of_ceiling >= 0 ? (format("%.1f", 100 * row.of_ceiling) + "%").c_str() : "-");
      std::printf(" %10s %11s %12s %10s", ratio(row.vs_vendor).c_str(),
                  warm.samples > 0 ? format("%.2f", warm.median_us).c_str() : "-",
                  warm.samples > 0 ? rate(row, warm.median_us, peaks.dram_gbps).c_str() : "-",
                  ratio(row.warm_vs_vendor).c_str());
    }
    if (!row.verdict.ok()) std::printf("  %s", row.verdict.problem().c_str());
    std::printf("\n");
  }
  if (throttled > 0) {
    std::printf("! the SM clock stayed below 3/4 of the boost clock in %zu samples of the steps marked\n", throttled);
  }
  for (const Row& row : rows) {
    if (row.figures.empty()) continue;
    std::printf("%-*s ", width, row.step->name.c_str());
    for (const Figure& figure : row.figures) std::printf(" %s %.6g", figure.name, figure.value);
    std::printf("\n");
  }
  for (const Row& row : rows) {
    if (!row.candidate.empty()) std::printf("%s: took %s\n", row.step->name.c_str(), row.candidate.c_str());
    if (!row.remark.empty()) std::printf("%s: %s\n", row.step->name.c_str(), row.remark.c_str());
  }
}

}  // namespace ladder
