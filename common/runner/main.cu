// The runner. Linked with one step it makes that step's executable; with all steps of a kernel, the kernel's ladder.
// Step 00, where it is linked in too, is the yardstick of the others.
#include "check.hpp"
#include "options.hpp"
#include "report.hpp"
#ifndef CUDA_EMU
#include "bench.cuh"
#endif

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace ladder {
namespace {

#ifdef CUDA_EMU
constexpr bool kGpu = false;
constexpr const char* kBackend = "cpu";
#else
constexpr bool kGpu = true;
constexpr const char* kBackend = "cuda";
#endif

enum Exit { kPass = 0, kFail = 1, kUsage = 2, kNoDevice = 77 };  // 77 also: none that can run the step

void print_help(const char* program, const Problem& problem) {
  const std::string ceiling =
      problem.ceiling() == Ceiling::link ? "copies over the link" : name_of(problem.ceiling()) + std::string(" kernel");
  std::printf("usage: %s [options]\n\n", program);
  std::printf("%s\n\n", kGpu ? ("Checks a step and times it beside step 00 and a " + ceiling + ".").c_str()
                             : "Checks a step. This is the CPU backend; it prints no times.");
  for (const Dim& d : problem.dims()) {
    std::printf("  --%-14s default %zu, at most %zu; 2^20 is understood\n", (std::string(d.name) + "=N").c_str(),
                kGpu ? d.gpu_default : d.cpu_default, d.max);
  }
  for (const Scalar& s : problem.scalars()) {
    std::printf("  --%-14s default %g\n", (std::string(s.name) + "=X").c_str(), s.default_value);
  }
  std::printf(
      "  --seed=N         for the random inputs, default 1\n"
      "  --small          the sizes that the CPU backend runs by default; a size given after it replaces its own\n"
      "  --check          only check: every awkward size (or the one given), every kind of data, aligned and not\n"
      "  --bench          check and time every size of the ladder table (or the one given)\n"
      "  --json           print one JSON object per step and size\n"
      "  --exact-buffers  no guard bands round the buffers, for compute-sanitizer\n"
      "  --device         print the device as JSON and stop\n"
      "  --help           this\n"
      "\nExit status: 0 all right, 1 a check failed, 2 bad usage, 77 no CUDA device that can run it.\n");
}

// Throws unless the buffers of `size` fit into the free memory.
void require_fit(const Problem& problem, const Size& size) {
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  double bytes = 0;
  for (const Buffer& b : problem.buffers(size)) bytes += static_cast<double>(b.count) * bytes_of(b.type);
  // Twice: a GPU also holds the ceiling kernel's buffers, the CPU backend the host's copies.
  const double need = 2 * bytes + (1 << 20);
  if (need <= static_cast<double>(free)) return;
  throw UsageError(describe(problem, size) + ": needs " + format("%.1f", need / 1e9) +
                   " GB of memory, the device has " + format("%.1f", static_cast<double>(free) / 1e9) + " GB free");
}

// The steps to report on: all, or all but step 00 where that is only linked in for comparison.
std::vector<Step*> measured_steps() {
  std::vector<Step*> all, others;
  for (Step& step : steps()) {
    all.push_back(&step);
    if (!step.is_vendor()) others.push_back(&step);
  }
  return others.size() == 1 ? others : all;
}

// The measured steps that can run at this size. Throws what the first one says if none can.
std::vector<Step*> steps_for(const Size& size, std::vector<std::string>* refusals = nullptr) {
  std::vector<Step*> able;
  std::string first_refusal;
  for (Step* step : measured_steps()) {
    try {
      step->problem->buffers(size);
      able.push_back(step);
    } catch (const UsageError& error) {
      if (first_refusal.empty()) first_refusal = error.what();
      if (refusals) refusals->push_back(step->name + ": skipped, " + error.what());
    }
  }
  if (able.empty()) throw UsageError(first_refusal);
  return able;
}

// steps_for(size), after a line for each step that is left out.
std::vector<Step*> announced_steps_for(const Size& size, const Options& options) {
  std::vector<std::string> refusals;
  const std::vector<Step*> able = steps_for(size, &refusals);
  for (const std::string& line : refusals) std::fprintf(options.json ? stderr : stdout, "%s\n", line.c_str());
  return able;
}

void merge(Row& row, const Verdict& verdict) {
  row.verdict.worst = std::max(row.verdict.worst, verdict.worst);
  if (row.verdict.ok()) row.verdict.problem = verdict.problem;
}

// The case in each place that a step asks for, made when it is first asked for.
class Places {
 public:
  Places(const Case& host, bool guarded) : host_(&host), guarded_(guarded) {}
  DeviceCase& operator[](Place place) {
    for (const auto& device : cases_) {
      if (device->place() == place) return *device;
    }
    cases_.push_back(std::make_unique<DeviceCase>(*host_, 0, guarded_, place));
    return *cases_.back();
  }

 private:
  const Case* host_;
  bool guarded_;
  std::vector<std::unique_ptr<DeviceCase>> cases_;
};

// Checks every row on one kind of data; the inputs are made once.
void check_rows(std::vector<Row>& rows, const Pattern& pattern, std::uint64_t seed, bool guarded) {
  const Case host(*rows.front().step->problem, rows.front().size, pattern, seed);
  Places places(host, guarded);
  for (Row& row : rows) {
    if (!row.verdict.ok()) continue;
    Verdict verdict = check(*row.step, places[row.step->problem->place()]);
    if (!verdict.ok()) verdict.problem = std::string(pattern.name) + " data: " + verdict.problem;
    merge(row, verdict);
  }
}

#ifndef CUDA_EMU
const Step* vendor_step() {
  for (const Step& step : steps()) {
    if (step.is_vendor()) return &step;
  }
  return nullptr;
}

void time_rows(std::vector<Row>& rows, std::uint64_t seed, const Device& device) {
  const Problem& problem = *rows.front().step->problem;
  const Size& size = rows.front().size;
  const Case host(problem, size, problem.patterns().front(), seed);
  Places places(host, false);
  const Clock clock(device);

  std::vector<const Step*> timed;
  for (const Row& row : rows) timed.push_back(row.step);
  const Step* vendor = vendor_step();
  const bool vendor_measured = std::find(timed.begin(), timed.end(), vendor) != timed.end();
  if (vendor && !vendor_measured) timed.push_back(vendor);

  std::vector<Contestant> contestants;
  for (const Step* step : timed) {
    DeviceCase& buffers = places[step->problem->place()];
    contestants.push_back({step->name, [&, step] { step->problem->run(buffers.arrays(), size); }});
    contestants.back().back_to_back = buffers.place() == Place::device;
    // Managed pages stay where they were used last; every run is to find them at home.
    if (buffers.place() == Place::managed) contestants.back().prepare = [&buffers] { buffers.reset(); };
  }
  contestants.push_back({"ceiling", make_ceiling(problem.ceiling(), problem.bytes(size))});
  contestants.back().back_to_back = problem.ceiling() != Ceiling::link;
  time_interleaved(clock, contestants);

  const double ceiling_us = contestants.back().cold.median_us;
  double vendor_us = -1;
  for (std::size_t c = 0; c < timed.size(); ++c) {
    if (timed[c] == vendor) vendor_us = contestants[c].cold.median_us;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rows[r].cold_us = contestants[r].cold.median_us;
    rows[r].cold_spread = contestants[r].cold.spread;
    if (contestants[r].back_to_back) rows[r].warm_us = contestants[r].warm.median_us;
    rows[r].of_ceiling = ceiling_us / rows[r].cold_us;
    if (vendor_us >= 0) rows[r].vs_vendor = vendor_us / rows[r].cold_us;
    rows[r].figures = timed[r]->problem->figures(places[timed[r]->problem->place()].arrays(), size);
  }
}
#endif

std::vector<Row> run_size(const Size& size, const Options& options) {
  std::vector<Row> rows;
  for (const Step* step : announced_steps_for(size, options)) rows.push_back({step, size, {}});
  const bool guarded = !options.exact_buffers && !kAddressSanitizer;
  const std::vector<Pattern> patterns = patterns_for(*rows.front().step->problem, size);
  for (const Pattern& pattern : patterns) check_rows(rows, pattern, options.seed, guarded);
#ifndef CUDA_EMU
  static const Device gpu = device();
  time_rows(rows, options.seed, gpu);
  check_rows(rows, patterns.front(), options.seed + 1, guarded);  // still right, on data not seen before?
  const std::string name = gpu.name;
  const double dram_gbps = gpu.dram_gbps;
#else
  const std::string name = "CPU backend (no times: an emulator's mean nothing)";
  const double dram_gbps = 0;
#endif
  if (options.json) {
    for (const Row& row : rows) print_json(row, kBackend);
  } else {
    print_table(rows, name, dram_gbps);
  }
  return rows;
}

// --check: the battery of the tests.
std::vector<Row> run_checks(const Options& options) {
  std::vector<Row> rows;
  for (const Step* step : options.sized ? announced_steps_for(options.size, options) : measured_steps()) {
    CheckPlan plan;
    plan.sizes = options.sized ? std::vector<Size>{options.size} : step->problem->test_sizes();
    plan.seed = options.seed;
    plan.guarded = plan.guarded && !options.exact_buffers;
    std::size_t checks = 0;
    rows.push_back({step, plan.sizes.back(), check_all(*step, plan, &checks)});
    if (options.json) {
      print_json(rows.back(), kBackend);
    } else if (rows.back().verdict.ok()) {
      std::printf("%s: PASS, %zu checks\n", step->name.c_str(), checks);
    } else {
      std::printf("%s: FAIL, %s\n", step->name.c_str(), rows.back().verdict.problem.c_str());
    }
  }
  return rows;
}

int run(int argc, char** argv) {
  if (steps().empty()) throw std::logic_error("no step is linked into this program");
  std::sort(steps().begin(), steps().end(), [](const Step& a, const Step& b) { return a.name < b.name; });
  const Problem& problem = *steps().front().problem;
  const Options options = parse_options(argc, argv, problem.dims(), problem.scalars(), kGpu);
  if (options.help) {
    print_help(argv[0], problem);
    return kPass;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "%s: no CUDA device here; the cpu preset builds the same step for the CPU backend\n", argv[0]);
    return kNoDevice;
  }
  if (options.device) {
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    int driver = 0, runtime = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    std::printf("{\"gpu\": \"%s\", \"driver_cuda\": \"%d.%d\", \"cuda\": \"%d.%d\"}\n", properties.name, driver / 1000,
                driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return kPass;
  }

  const std::vector<Step> unsupported = take_out_unsupported_steps();  // `problem` may be one of theirs
  for (const Step& step : unsupported) {
    std::fprintf(options.json ? stderr : stdout, "%s: skipped, needs %s\n", step.name.c_str(), step.needs.c_str());
  }
  const bool only_vendor = std::all_of(steps().begin(), steps().end(), [](const Step& s) { return s.is_vendor(); });
  if (!unsupported.empty() && only_vendor) return kNoDevice;

  std::vector<Size> sizes{options.size};
  if (options.bench && !options.sized) {
    sizes = problem.bench_sizes();
    const auto too_large = [&](const Size& size) {
      try {
        require_fit(*steps_for(size).front()->problem, size);
        return false;
      } catch (const UsageError& error) {
        std::fprintf(stderr, "skipped: %s\n", error.what());
        return true;
      }
    };
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(), too_large), sizes.end());
  } else if (options.sized || !options.check) {
    require_fit(*steps_for(options.size).front()->problem, options.size);
  }
  bool ok = true;
  if (options.check) {
    for (const Row& row : run_checks(options)) ok &= row.verdict.ok();
  } else {
    for (const Size& size : sizes) {
      for (const Row& row : run_size(size, options)) ok &= row.verdict.ok();
    }
  }
  return ok ? kPass : kFail;
}

}  // namespace
}  // namespace ladder

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // into a pipe too: a crash must not take finished lines with it
  try {
    return ladder::run(argc, argv);
  } catch (const ladder::UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return ladder::kUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return ladder::kFail;
  }
}
