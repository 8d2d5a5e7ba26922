// The runner. Linked with one step it makes that step's program; with all steps of a kernel, the kernel's ladder. Step
// 00, if linked in, is the reference for the other steps' times.
#include "check.hpp"
#include "definitions.hpp"
#include "footprint.hpp"
#include "options.hpp"
#include "places.hpp"
#include "printed.hpp"
#include "profile.cuh"
#include "progress.hpp"
#include "random.hpp"
#include "record.hpp"
#include "report.hpp"
#ifdef CUDA_EMU_TRACE
#include "trace_report.hpp"
#endif
#ifndef CUDA_EMU
#include "contest.cuh"
#include "random_run.cuh"
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace ladder {
namespace {

#ifdef CUDA_EMU_TRACE
constexpr bool kTrace = true;
#else
constexpr bool kTrace = false;
#endif

#ifdef CUDA_EMU
constexpr bool kGpu = false;
constexpr const char* kBackend = "cpu";
#else
constexpr bool kGpu = true;
constexpr const char* kBackend = "cuda";
#endif

enum Exit { kPass = 0, kFail = 1, kUsage = 2, kNoDevice = 77 };  // 77 also: no device that can run the step

void print_help(const char* program, const Problem& problem) {
  const std::string ceiling = problem.ceiling_name();
  std::printf("usage: %s [options]\n\n", program);
  std::printf("%s\n\n", kGpu ? ("Checks a step and times it beside step 00 and its ceiling, a " + ceiling + ".").c_str()
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
      "  --smallest-first with --check: sizes by their bytes, so that a failure names the smallest that fails\n"
      "  --brief          with --check: a few small sizes only\n"
      "  --random-data    with --check: each size on random data only, aligned once and once not\n"
      "  --data=NAME      with --check or --trace: only this kind of data, as a failure names it\n"
      "  --aligned        with --check: no misaligned arrays\n"
      "  --zeroed         with --check: outputs hold zeros beforehand, and what is not written passes\n"
      "  --seconds=S      with --check: after S seconds of CPU time no other size is begun\n"
      "  --lenient        with --check: what an interviewer would let pass is noted, not wrong: a size of 0,\n"
      "                   misaligned arrays, NaN, the sign of a zero\n"
      "  --bench          check and time every size of the ladder table (or the one given)\n"
      "  --once           only run, once on random data, with no check: for a profiler\n"
      "  --random=N       N random shapes: %s\n"
      "  --first=K        with --random: the first is shape number K of the seed; default 0\n"
      "  --misaligned     with --once or --trace: every array starts one element past a 256-byte boundary\n"
      "  --only=STEP      in a ladder: only this step, or these: --only=STEP,STEP\n"
      "  --timeout=S      end the program where the check of a step takes more than S seconds; default 0: "
      "never\n"
      "  --skip-slow      leave out a step that is slow at a large size even if it is the only one\n"
      "  --quiet          no lines on what takes long\n"
      "  --json           print one JSON object per step and size\n"
      "  --printed=FILE   what a step itself prints goes to FILE, of its last run alone\n"
      "  --record=FILE    the verdicts go to FILE too, one JSON object per step and size\n"
      "%s"
      "  --exact-buffers  no guard bands round the buffers, for compute-sanitizer\n"
      "  --device         print the device as JSON and stop\n"
      "  --help           this\n"
      "\nLADDER_MEMORY=8G in the environment: as on a device with 8 GiB of memory; what does not fit is skipped.\n"
      "\nExit status: 0 all right, 1 a check failed, 2 bad usage, 77 no CUDA device that can run it, 124 a time\n"
      "limit was reached.\n",
      kGpu ? "times the last step beside step 00 and the steps near it. With --check small\n"
             "                   ones on every kind of data, each step checked at each"
           : "small ones on every kind of data, each step checked at each",
      kTrace ? "  --launch-only    only launch, with no thread: does the size fit the limits of a grid?\n"
               "  --trace          run each step once, count its accesses, say which accesses race; with --json all "
               "that it counts\n"
               "  --events         with --trace --json: each request too, with its lanes' addresses and values\n"
      : kGpu ? ""
             : "  --launch-only    only launch, with no thread: does the size fit the limits of a grid?\n");
}

// Throws UsageError if a run at `size` does not fit into free memory.
void require_fit(const Problem& problem, const Size& size) {
  require_free(problem, size, memory_needed(problem, size, kGpu));
}

bool is_named(const std::vector<std::string>& names, const Step& step) {
  return std::find(names.begin(), names.end(), step.name) != names.end();
}

// Removes the steps that --only does not name from steps() and returns them. Step 00 stays, for comparison.
std::vector<Step> take_out_others(const std::vector<std::string>& only) {
  if (only.empty()) return {};
  for (const std::string& name : only) {
    const bool known = std::any_of(steps().begin(), steps().end(), [&](const Step& s) { return s.name == name; });
    if (!known) throw UsageError("--only: this program has no step '" + name + "'");
  }
  const auto first = std::stable_partition(steps().begin(), steps().end(),
                                           [&](const Step& s) { return is_named(only, s) || s.is_vendor(); });
  std::vector<Step> others(std::make_move_iterator(first), std::make_move_iterator(steps().end()));
  steps().erase(first, steps().end());
  return others;
}

// Returns the steps to report on: those named by --only, else all. In the program of a single step, step 00 is linked
// for comparison only and not reported.
std::vector<Step*> measured_steps(const std::vector<std::string>& only) {
  std::vector<Step*> named, all, others;
  for (Step& step : steps()) {
    all.push_back(&step);
    if (is_named(only, step)) named.push_back(&step);
    if (!step.is_vendor()) others.push_back(&step);
  }
  return !only.empty() ? named : others.size() == 1 ? others : all;
}

// Returns the measured steps that can run at this size. Throws the first step's reason if none can.
std::vector<Step*> steps_for(const Size& size, const Options& options, std::vector<std::string>* refusals = nullptr) {
  std::vector<Step*> able;
  std::string first_refusal;
  for (Step* step : measured_steps(options.only)) {
    try {
      step->problem->buffers(size);
      able.push_back(step);
    } catch (const UsageError& error) {
      if (first_refusal.empty()) first_refusal = error.what();
      if (refusals) {
        refusals->push_back(step->name + ": skipped, " + error.what());
        Record::skipped(*step, "skipped", error.what());
      }
    }
  }
  if (able.empty()) throw UsageError(first_refusal);
  return able;
}

// Like steps_for(size), and prints a line for each step that is left out.
std::vector<Step*> announced_steps_for(const Size& size, const Options& options) {
  std::vector<std::string> refusals;
  const std::vector<Step*> able = steps_for(size, options, &refusals);
  for (const std::string& line : refusals) std::fprintf(options.json ? stderr : stdout, "%s\n", line.c_str());
  return able;
}

// Writes a row as JSON, to standard output with --json and to the file of --record.
void write_json(Row& row, const Options& options) {
  row.reports = Record::take_reports();
  const std::string json = to_json(row, kBackend);
  if (options.json) std::printf("%s\n", json.c_str());
  Record::write(json);
}

void merge(Row& row, const Verdict& verdict) {
  row.verdict.worst = std::max(row.verdict.worst, verdict.worst);
  if (row.verdict.ok()) row.verdict.failure = verdict.failure;
}

// Checks every row on one kind of data. Steps with the same answers share one set of inputs.
void check_rows(std::vector<Row>& rows, const Pattern& pattern, std::uint64_t seed, bool guarded, Progress& progress) {
  std::optional<Case> host;
  std::optional<Places> places;
  for (Row& row : rows) {
    if (!row.verdict.ok()) continue;
    const Problem& problem = *row.step->problem;
    const std::string what = describe(problem, row.size) + ", " + pattern.name + " data";
    if (!host || !host->holds_for(problem)) {
      progress.begin(problem.kernel(), "making inputs and answers, " + what, 0);
      places.reset();
      host.emplace(problem, row.size, pattern, seed);
      places.emplace(*host, guarded);
    }
    progress.begin(row.step->name, "checking " + what);
    candidate_run() = {};
    Verdict verdict = check(*row.step, (*places)[problem.place()]);
    if (!verdict.ok()) verdict.failure->data = pattern.name;
    merge(row, verdict);
    if (candidate_run().taken) row.candidate = candidate_run().taken;
  }
}

// A step is slow if one run takes longer: timing it (on a GPU), or checking it (on the CPU backend), takes minutes.
constexpr double kSlowRun = kGpu ? 1 : 20;  // seconds

// Returns true if `size` is so much larger than the default size that some steps may be too slow for it.
bool is_large(const Problem& problem, const Size& size) {
  constexpr double kFactor = 4;
  Size plain;
  for (const Dim& d : problem.dims()) plain.dims.push_back(kGpu ? d.gpu_default : d.cpu_default);
  for (const Scalar& s : problem.scalars()) plain.scalars.push_back(s.default_value);
  return problem.bytes(size) > kFactor * problem.bytes(plain);
}

// Returns the time of one run, or 0 if it fails; a check then reports why.
double run_seconds(const Step& step, DeviceCase& device) {
  using Clock = std::chrono::steady_clock;
  try {
    device.reset();
    device.prepare();
    const Printed printed;
    const Clock::time_point start = Clock::now();
    step.problem->run(device.arrays(), device.host_case().size());
    CUDA_CHECK(cudaDeviceSynchronize());
    return std::chrono::duration<double>(Clock::now() - start).count();
  } catch (const CudaError&) {
    cudaGetLastError();
#ifdef CUDA_EMU
    cudaDeviceReset();
#endif
    return 0;
  }
}

// Prints that a row's step is left out, and why.
void leave_out(const Row& row, const std::string& time, bool to_stderr) {
  const std::string why = "one run takes " + time + " at " + describe(*row.step->problem, row.size) +
                          "; --only=" + row.step->name + " checks it all the same";
  std::fprintf(to_stderr ? stderr : stdout, "%s: left out, %s\n", row.step->name.c_str(), why.c_str());
  Record::skipped(*row.step, "left_out", why);
}

// Removes the steps that are slow at this size, and prints their names. If all are slow, it is due to the size, and all
// stay. With --skip-slow slow steps are always removed, and a single step is stopped at the limit (not with --json).
void leave_out_slow_steps(std::vector<Row>& rows, const Options& options, bool guarded, Progress& progress) {
  const Problem& problem = *rows.front().step->problem;
  const Size size = rows.front().size;
  std::vector<double> seconds;
  {
    progress.begin(problem.kernel(), "making inputs and answers, " + describe(problem, size), 0);
    const Case host(problem, size, problem.patterns().front(), options.seed);
    Places places(host, guarded);
    for (const Row& row : rows) {
      DeviceCase& device = places[row.step->problem->place()];
      progress.begin(row.step->name, "first run, " + describe(problem, size));
      if (options.skip_slow && rows.size() == 1 && !options.json) {
        progress.give_up_after(kSlowRun,
                               [row] { leave_out(row, "more than " + format("%.0f", kSlowRun) + " s", false); });
      }
      seconds.push_back(run_seconds(*row.step, device));
    }
    progress.begin(problem.kernel(), "checking " + describe(problem, size), 0);
  }
  if (!options.skip_slow && *std::min_element(seconds.begin(), seconds.end()) > kSlowRun) return;
  std::vector<Row> kept;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (seconds[r] <= kSlowRun) {
      kept.push_back(rows[r]);
    } else {
      leave_out(rows[r], format("%.1f", seconds[r]) + " s", options.json);
    }
  }
  rows = kept;
}

#ifndef CUDA_EMU
// Times the rows that passed their checks.
void time_rows(std::vector<Row>& all_rows, std::uint64_t seed, const Device& device) {
  const Problem& problem = *all_rows.front().step->problem;
  const Size& size = all_rows.front().size;
  const Case host(problem, size, problem.patterns().front(), seed);

  std::vector<Row*> rows;
  std::vector<const Step*> timed;  // the rows' steps, then step 00 if it has no row
  const Step* vendor = vendor_step();
  bool vendor_has_row = false;
  for (Row& row : all_rows) {
    vendor_has_row |= row.step == vendor;
    if (!row.verdict.ok()) continue;
    rows.push_back(&row);
    timed.push_back(row.step);
  }
  if (rows.empty()) return;
  if (vendor && !vendor_has_row) timed.push_back(vendor);

  Places places(host, false);
  Clock clock(device);
  put_timings(rows, timed, time_in_turns(timed, size, places, clock, device));
  for (Row* row : rows) {
    row->figures = row->step->problem->figures(places.arrays_of(*row->step), size);
    row->remark = row->step->problem->remark(places.arrays_of(*row->step), size);
  }
}
#endif

// Removes the steps that would take minutes to check and time at this size, and prints their names. The estimate scales
// the times at a smaller size, whose rows are `before`, with the bytes.
void leave_out_slower_steps(std::vector<Row>& rows, const std::vector<Row>& before, bool to_stderr) {
  constexpr double kSlowTiming = 5;  // seconds for one run
  const auto slow = [&](const Row& row) {
    const auto same = std::find_if(before.begin(), before.end(), [&](const Row& b) { return b.step == row.step; });
    if (same == before.end()) return false;
    const double factor = row.step->problem->bytes(row.size) / row.step->problem->bytes(same->size);
    const double seconds = same->cold.median_us * factor / 1e6;
    if (seconds > kSlowTiming) leave_out(row, "some " + format("%.0f", seconds) + " s", to_stderr);
    return seconds > kSlowTiming;
  };
  rows.erase(std::remove_if(rows.begin(), rows.end(), slow), rows.end());
}

// Checks the steps at `size`, and on a GPU times them. `before`: the rows of a smaller size, if any.
std::vector<Row> run_size(const Size& size, const std::vector<Row>& before, const Options& options,
                          Progress& progress) {
  std::vector<Row> rows;
  for (const Step* step : announced_steps_for(size, options)) rows.push_back({step, size, {}});
  leave_out_slower_steps(rows, before, options.json);
  if (rows.empty()) return rows;
  const bool guarded = !options.exact_buffers && !kAddressSanitizer;
  const Problem& problem = *rows.front().step->problem;
  if ((rows.size() > 1 || options.skip_slow) && !options.bench && is_large(problem, size)) {
    leave_out_slow_steps(rows, options, guarded, progress);
    if (rows.empty()) return rows;
  }
  const std::vector<Pattern> patterns = patterns_for(problem, size);
  for (const Pattern& pattern : patterns) check_rows(rows, pattern, options.seed, guarded, progress);
#ifndef CUDA_EMU
  static const Device gpu = device();
  progress.begin(problem.kernel(), "timing " + describe(problem, size), rows.size() + 1);
  time_rows(rows, options.seed, gpu);
  check_rows(rows, patterns.front(), options.seed + 1, guarded, progress);  // again, on new data
  const std::string name = gpu.name;
  const Peaks peaks = gpu.peaks;
#else
  const std::string name = "CPU backend (no times: an emulator's mean nothing)";
  const Peaks peaks;
#endif
  for (Row& row : rows) write_json(row, options);
  if (!options.json) print_table(rows, name, peaks);
  return rows;
}

// Limits of --brief, so that a build with sanitizers takes seconds.
constexpr std::size_t kBriefSizes = 12;
constexpr double kBriefBytes = 1 << 17;

// --check: runs the checks of the tests.
std::vector<Row> run_checks(const Options& options, Progress& progress) {
  std::vector<Row> rows;
  for (const Step* step : options.sized ? announced_steps_for(options.size, options) : measured_steps(options.only)) {
    CheckPlan plan;
    plan.sizes = options.sized ? std::vector<Size>{options.size} : step->problem->test_sizes();
    if (options.smallest_first) sort_by_bytes(*step->problem, plan.sizes);
    if (options.brief) plan.sizes = some_sizes(*step->problem, plan.sizes, kBriefSizes, kBriefBytes);
    plan.seed = options.seed;
    plan.guarded = plan.guarded && !options.exact_buffers;
    plan.every_pattern = !options.random_data;
    plan.data = options.data;
    plan.aligned = options.aligned;
    plan.zeroed = options.zeroed;
    plan.seconds = options.seconds;
    std::vector<Remark> remarks;
    if (options.lenient) plan.remarks = &remarks;
    progress.begin(step->name, "checking " + (options.sized ? describe(*step->problem, options.size)
                                                            : std::to_string(plan.sizes.size()) + " sizes"));
    std::size_t checks = 0, sizes_left = 0;
    Row row{step, plan.sizes.back(), check_all(*step, plan, &checks, &sizes_left)};
    row.checks = checks;
    row.sizes_left = sizes_left;
    row.remarks = remarks;
    write_json(row, options);
    rows.push_back(row);
    if (options.json) continue;
    for (const Remark& remark : remarks) {
      std::printf("%s: remark, %s\n", step->name.c_str(), text(remark.failure).c_str());
    }
    if (row.verdict.ok()) {
      const std::string left = sizes_left > 0 ? ", " + std::to_string(sizes_left) + " sizes left out" : "";
      std::printf("%s: PASS, %zu checks%s\n", step->name.c_str(), checks, left.c_str());
    } else {
      std::printf("%s: FAIL, %s\n", step->name.c_str(), row.verdict.problem().c_str());
    }
  }
  return rows;
}

// Returns the last step by name, which is the best one.
const Step& top_step() {
  const auto own = [](const Step& step) { return !step.is_vendor(); };
  const auto last = std::find_if(steps().rbegin(), steps().rend(), own);
  return last == steps().rend() ? steps().front() : *last;
}

// --random --check: checks every step at the same small random shapes.
std::vector<Row> run_random_checks(const Options& options, Progress& progress) {
  const Problem& domain = *top_step().problem;
  std::vector<Row> rows;
  for (const Step* step : measured_steps(options.only)) {
    progress.begin(step->name, "checking " + std::to_string(options.random) + " random shapes");
    std::size_t checks = 0, refused = 0;
    const Verdict verdict = check_random(*step, domain, options.seed, options.first, options.random,
                                         !options.exact_buffers, &checks, &refused);
    if (checks == 0 && verdict.ok()) {
      std::fprintf(options.json ? stderr : stdout, "%s: left out, refuses all these shapes\n", step->name.c_str());
      Record::skipped(*step, "left_out", "refuses all these shapes");
      continue;
    }
    rows.push_back({step, random_shape(domain, options.seed, options.first, kCheckedTraffic), verdict});
    write_json(rows.back(), options);
    if (options.json) continue;
    if (!verdict.ok()) {
      std::printf("%s: FAIL, %s\n", step->name.c_str(), verdict.problem().c_str());
    } else {
      std::printf("%s: PASS, %zu checks at %zu random shapes%s\n", step->name.c_str(), checks, options.random - refused,
                  refused > 0 ? (", " + std::to_string(refused) + " refused").c_str() : "");
    }
  }
  return rows;
}

#ifndef CUDA_EMU
// --random: times the top step at random shapes from its domain. Returns false if any check failed.
bool run_random(const Options& options, Progress& progress) {
  const Device gpu = device();
  const Step& top = top_step();
  RandomRun runs(gpu, options.seed, !options.exact_buffers, progress);
  bool ok = true;
  for (std::size_t number = options.first; number < options.first + options.random; ++number) {
    const Size size = random_shape(*top.problem, options.seed, number, kTimedTraffic);
    std::vector<Row> rows;
    try {
      require_fit(*top.problem, size);
      rows = runs.run(top, size);
    } catch (const UsageError& error) {
      rows.push_back(left_out_row(top, size, error.what()));
    }
    std::vector<Row> shown;
    for (Row& row : rows) {
      ok &= row.verdict.ok();
      row.shape = static_cast<long>(number);
      write_json(row, options);
      if (options.json) continue;
      if (row.left_out.empty()) {
        shown.push_back(row);
      } else {
        std::printf("%s: left out, %s\n", row.step->name.c_str(), row.left_out.c_str());
      }
    }
    if (!shown.empty()) print_table(shown, gpu.name, gpu.peaks);
  }
  return ok;
}
#endif

// --once: runs each step once on random data. A profiler records only this run.
void run_once(const Options& options) {
  const std::vector<Step*> able = announced_steps_for(options.size, options);
  const Problem& problem = *able.front()->problem;
  constexpr bool kAnswers = false, kGuarded = false;
  const Case host(problem, options.size, problem.patterns().front(), options.seed, kAnswers);
  for (const Step* step : able) {
    DeviceCase device(host, options.misaligned ? 1 : 0, kGuarded, step->problem->place());
    const auto run = [&] {
      step->problem->prepare(device.arrays(), options.size);
      const Printed printed;
      step->problem->run(device.arrays(), options.size);
      CUDA_CHECK(cudaDeviceSynchronize());
    };
    if (kGpu) {
      run();  // loads the code, allocates scratch memory
      device.reset();
    }
    {
      ProfiledRange range;
      if (step != able.front()) range.next_step();
      run();
    }
    Row row{step, options.size, {}};
    row.checked = false;
    write_json(row, options);
    if (!options.json) {
      std::printf("%s: run once, %s, not checked\n", step->name.c_str(), describe(problem, options.size).c_str());
    }
  }
}

#ifdef CUDA_EMU
// --launch-only: checks grids and blocks against the device's limits. No thread runs, and no array is touched.
bool run_launches(const Options& options) {
  bool ok = true;
  for (const Step* step : announced_steps_for(options.size, options)) {
    const Problem& problem = *step->problem;
    Row row{step, options.size, {}};
    std::vector<Memory> memory;
    std::vector<void*> pointers;
    for (const Buffer& buffer : problem.buffers(options.size)) {
      memory.emplace_back(problem.place(), buffer.bytes());
      pointers.push_back(memory.back().get());
    }
    cuda_emu::set_launches_only(true);
    try {
      const Printed printed;
      problem.run(Arrays(pointers), options.size);
      CUDA_CHECK(cudaDeviceSynchronize());
    } catch (const CudaError& error) {
      row.verdict.failure = of_error(error);
      row.verdict.failure->run_as(at_size(problem, options.size));
      cudaGetLastError();
    }
    cuda_emu::set_launches_only(false);
    ok &= row.verdict.ok();
    write_json(row, options);
    if (!options.json) {
      const std::string wrong = row.verdict.ok() ? "launches" : "FAIL, " + row.verdict.problem();
      std::printf("%s: %s\n", step->name.c_str(), wrong.c_str());
    }
  }
  return ok;
}
#endif

#ifdef CUDA_EMU_TRACE
// --trace: runs each step once with tracing. Returns false if a result is wrong or accesses race.
bool run_traces(const Options& options) {
  bool ok = true;
  for (const Step* step : announced_steps_for(options.size, options)) {
    const Problem& problem = *step->problem;
    const std::vector<Pattern> patterns = problem.patterns();
    const auto named = [&](const Pattern& pattern) { return options.data.empty() || options.data == pattern.name; };
    const auto pattern = std::find_if(patterns.begin(), patterns.end(), named);
    if (pattern == patterns.end()) throw UsageError("--data: there is no kind '" + options.data + "'");
    const Case host(problem, options.size, *pattern, options.seed);
    const Traced traced = trace_step(*step, host, options.misaligned ? 1 : 0, false, options.events);
    std::printf("%s\n", (options.json ? to_json(*step, options.size, traced) : to_text(*step, traced)).c_str());
    ok &= traced.verdict.ok() && !traced.has_race();
  }
  return ok;
}
#endif

int run(int argc, char** argv) {
  if (steps().empty()) throw std::logic_error("no step is linked into this program");
  std::sort(steps().begin(), steps().end(), [](const Step& a, const Step& b) { return a.name < b.name; });
  const Problem& problem = *steps().front().problem;
  const Options options = parse_options(argc, argv, problem.dims(), problem.scalars(), kGpu);
  if (options.help) {
    print_help(argv[0], problem);
    return kPass;
  }
  if (!options.printed.empty()) Printed::to(options.printed);
  if (!options.record.empty()) Record::to(options.record);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "%s: no CUDA device here; the cpu preset builds the same step for the CPU backend\n", argv[0]);
    return kNoDevice;
  }
  if (options.device) {
    cudaDeviceProp properties;
    int current = 0;
    CUDA_CHECK(cudaGetDevice(&current));
    CUDA_CHECK(cudaGetDeviceProperties(&properties, current));
    int driver = 0, runtime = 0;
    CUDA_CHECK(cudaDriverGetVersion(&driver));
    CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    std::printf("{\"gpu\": \"%s\", \"driver_cuda\": \"%d.%d\", \"cuda\": \"%d.%d\"}\n", properties.name, driver / 1000,
                driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return kPass;
  }

  memory_limit();  // throws here if LADDER_MEMORY is invalid
  const std::vector<Step> others = take_out_others(options.only);
  const std::vector<Step> unsupported = take_out_unsupported_steps();  // kept alive: one may own `problem`
  for (const Step& step : unsupported) {
    std::fprintf(options.json ? stderr : stdout, "%s: skipped, needs %s\n", step.name.c_str(), step.needs.c_str());
    Record::skipped(step, "skipped", "needs " + step.needs);
  }
  const bool only_vendor = std::all_of(steps().begin(), steps().end(), [](const Step& s) { return s.is_vendor(); });
  if (!unsupported.empty() && only_vendor) return kNoDevice;

#ifdef CUDA_EMU
  if (options.launch_only) return run_launches(options) ? kPass : kFail;
#else
  if (options.launch_only) throw UsageError("--launch-only is for the CPU backend");
#endif
#ifdef CUDA_EMU_TRACE
  if (options.trace) return run_traces(options) ? kPass : kFail;
#else
  if (options.trace)
    throw UsageError("--trace: this build does not count accesses; scripts/explain builds one that does");
#endif

  std::vector<Size> sizes{options.size};
  if (options.bench && !options.sized) {
    sizes = problem.bench_sizes();
    const auto too_large = [&](const Size& size) {
      try {
        require_fit(*steps_for(size, options).front()->problem, size);
        return false;
      } catch (const UsageError& error) {
        std::fprintf(stderr, "skipped: %s\n", error.what());
        return true;
      }
    };
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(), too_large), sizes.end());
  } else if (options.sized || (!options.check && options.random == 0)) {
    const Problem& first = *steps_for(options.size, options).front()->problem;
    try {
      require_fit(first, options.size);
    } catch (const UsageError& error) {
      if (options.sized) throw;
      for (const Step* step : measured_steps(options.only)) {  // the default size is too large for the device
        std::fprintf(options.json ? stderr : stdout, "%s: skipped, %s\n", step->name.c_str(), error.what());
        Record::skipped(*step, "skipped", error.what());
      }
      return kNoDevice;
    }
  }
  if (options.once) {
    run_once(options);
    return kPass;
  }
  Progress progress(options.timeout, options.quiet);
  bool ok = true;
  if (options.random > 0 && (options.check || !kGpu)) {
    for (const Row& row : run_random_checks(options, progress)) ok &= row.verdict.ok();
#ifndef CUDA_EMU
  } else if (options.random > 0) {
    ok = run_random(options, progress);
#endif
  } else if (options.check) {
    for (const Row& row : run_checks(options, progress)) ok &= row.verdict.ok();
  } else {
    std::vector<Row> rows;
    for (const Size& size : sizes) {
      rows = run_size(size, rows, options, progress);
      for (const Row& row : rows) ok &= row.verdict.ok();
    }
  }
  return ok ? kPass : kFail;
}

}  // namespace
}  // namespace ladder

__attribute__((visibility("default"))) int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // also in a pipe: finished lines survive a crash
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
