// Checks that a step's results are right and complete, and that it writes nothing else. check() runs a step on one
// case, check_all() on all cases that it must be right on.
#pragma once
#include "device_case.hpp"
#include "printed.hpp"
#ifdef CUDA_EMU_TRACE
#include "cuda_emu/trace.hpp"
#endif

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace ladder {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

inline Failure of_error(const CudaError& error) {
  Failure failure;
  failure.message = error.what();
  failure.error = cudaGetErrorName(error.code);
  return failure;
}

// Runs a step on poisoned outputs and returns the verdict. A CUDA error is a verdict, too, and is cleared if possible.
// After a wrong result the buffers are restored for later steps.
inline Verdict check(const Step& step, DeviceCase& device) {
  Verdict verdict;
  try {
    device.prepare();
    {
      const Printed printed;
      step.problem->run(device.arrays(), device.host_case().size());
      CUDA_CHECK(cudaDeviceSynchronize());
    }
    verdict = device.verdict(*step.problem);
    if (!verdict.ok()) device.reset();
  } catch (const CudaError& error) {
    verdict.failure = of_error(error);
    cudaGetLastError();
#ifdef CUDA_EMU
    cudaDeviceReset();  // on the CPU backend memory survives a reset
    device.reset();
#endif
  }
  return verdict;
}

// check() for a step; for a program for any shape, check() with each candidate that accepts the case. After a failure
// candidate_run() still selects the failing candidate.
inline Verdict check_candidates(const Step& step, DeviceCase& device) {
  candidate_run() = {};
  Verdict all;
  bool is_accepted = false;
  for (std::size_t c = 0; c == 0 || c < candidate_run().candidates; ++c) {
    candidate_run().wanted = c;
    try {
      const Verdict one = check(step, device);
      is_accepted = true;
      all.worst = std::max(all.worst, one.worst);
      all.failure = one.failure;
      if (!all.excused) all.excused = one.excused;
      if (!all.ok()) {
        if (candidate_run().candidates > 0) all.failure->candidate = candidate_run().taken;
        return all;
      }
    } catch (const NotAccepted&) {
    }
  }
  candidate_run().wanted.reset();
  if (!is_accepted) {
    all.failure = Failure();
    all.failure->message = "no candidate accepts this size";
  }
  return all;
}

inline bool is_shown(const Dim& dim, std::size_t value) { return dim.gpu_default > 0 || value > 0; }

// "n=1024"; "m=8", "k=16", "alpha=1", "beta=0"
inline std::vector<std::string> assignments(const Problem& problem, const Size& size, const char* scalar_format) {
  const std::vector<Dim> dims = problem.dims();
  const std::vector<Scalar> scalars = problem.scalars();
  std::vector<std::string> all;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (is_shown(dims[d], size[d])) all.push_back(std::string(dims[d].name) + "=" + std::to_string(size[d]));
  }
  for (std::size_t s = 0; s < scalars.size(); ++s) {
    all.push_back(std::string(scalars[s].name) + "=" + format(scalar_format, size.scalars[s]));
  }
  return all;
}

// "m=8 k=16 alpha=1 beta=0"
inline std::string describe(const Problem& problem, const Size& size) {
  std::string text;
  for (const std::string& one : assignments(problem, size, "%g")) text += (text.empty() ? "" : " ") + one;
  return text;
}

// Returns a Failure with the size filled in.
inline Failure at_size(const Problem& problem, const Size& size) {
  Failure failure;
  failure.size = describe(problem, size);
  for (const std::string& one : assignments(problem, size, "%.9g")) failure.options.push_back("--" + one);
  return failure;
}

constexpr double kLargeBytes = 1 << 20;  // larger sizes are run in fewer ways

// Returns the patterns to try at a size: all of the problem's, or the first two at a large size.
inline std::vector<Pattern> patterns_for(const Problem& problem, const Size& size) {
  constexpr std::size_t when_large = 2;
  std::vector<Pattern> patterns = problem.patterns();
  if (problem.bytes(size) > kLargeBytes && patterns.size() > when_large) patterns.resize(when_large);
  return patterns;
}

// Returns true if a device of compute capability `capability` (90 for 9.0) runs code compiled for `needs`: "sm_90" on
// 9.0 and newer devices, "sm_90a" on 9.0 only.
inline bool meets(int capability, const std::string& needs) {
  if (needs.empty()) return true;
  const int wanted = std::stoi(needs.substr(std::strlen("sm_")));
  return needs.back() == 'a' ? capability == wanted : capability >= wanted;
}

// Removes the steps that the current device cannot run from steps(), and returns them.
inline std::vector<Step> take_out_unsupported_steps() {
  int major = 0, minor = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  const auto first = std::stable_partition(steps().begin(), steps().end(),
                                           [&](const Step& step) { return meets(10 * major + minor, step.needs); });
  std::vector<Step> unsupported(std::make_move_iterator(first), std::make_move_iterator(steps().end()));
  steps().erase(first, steps().end());
  return unsupported;
}

// Sorts a plan's sizes by bytes, so that a failure names the smallest size that fails.
inline void sort_by_bytes(const Problem& problem, std::vector<Size>& sizes) {
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const Size& a, const Size& b) { return problem.bytes(a) < problem.bytes(b); });
}

// Returns at most `count` sizes with at most `bytes` of traffic, evenly spread.
inline std::vector<Size> some_sizes(const Problem& problem, std::vector<Size> sizes, std::size_t count, double bytes) {
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [&](const Size& size) { return problem.bytes(size) > bytes; }),
              sizes.end());
  std::vector<Size> some;
  for (std::size_t i = 0; i < std::min(count, sizes.size()); ++i) {
    some.push_back(sizes[i * (sizes.size() - 1) / std::max<std::size_t>(std::min(count, sizes.size()) - 1, 1)]);
  }
  return some;
}

// In a traced build runs the step again and returns the last writer of the wrong value (Failure::writer), else "".
inline std::string last_writer(const Step& step, DeviceCase& device, const Failure& failure) {
#ifdef CUDA_EMU_TRACE
  const bool is_value = failure.what == Failure::What::value || failure.what == Failure::What::unwritten;
  if (!is_value) return "";
  const std::size_t bytes = bytes_of(device.host_case().buffers()[failure.number].type);
  const unsigned char* value = device.arrays().at<unsigned char>(failure.number) + failure.index * bytes;
  cuda_emu::trace::watch_last_write(value, bytes);
  check(step, device);
  const std::string writer = cuda_emu::trace::last_write();
  return writer.empty() ? "no thread" : writer;
#else
  (void)step, (void)device, (void)failure;
  return "";
#endif
}

// A failure that an interviewer would accept. Recorded once per kind.
struct Remark {
  std::string kind;    // "alignment", "empty", "NaN" or "corner"
  std::string lesson;  // for a corner: Problem::corner()
  Failure failure;
};

// What check_all() runs.
struct CheckPlan {
  std::vector<Size> sizes;
  std::uint64_t seed = 1;
  bool guarded = !kAddressSanitizer;
  bool every_pattern = true;  // if false: random data only, aligned and with one misalignment
  bool in_turns = false;      // each size gets a part of the kinds, misalignments and orders (then 3), in turn
  std::string data;           // only this kind of data; empty: all
  bool aligned = false;       // no misaligned buffers
  bool zeroed = false;        // outputs hold zeros, not poison
  unsigned seconds = 0;       // CPU time after which no other size is begun; 0: no limit
  std::vector<Remark>* remarks = nullptr;  // if given: collects what an interviewer would accept
};

// Returns the orders of threads to check in: on the CPU backend forward and reverse, with `in_turns` a random one too,
// or only the one that CUDA_EMU_ORDER sets. A GPU has its own order.
inline std::vector<std::string> thread_orders(bool in_turns = false) {
#ifdef CUDA_EMU
  if (std::getenv("CUDA_EMU_ORDER") != nullptr) return {cuda_emu::order_name()};
  if (in_turns) return {"forward", "reverse", "random:1"};
  return {"forward", "reverse"};
#else
  (void)in_turns;
  return {""};
#endif
}

// Sets the order of threads during its lifetime.
class ThreadOrder {
 public:
#ifdef CUDA_EMU
  explicit ThreadOrder(const std::string& order) : before_(cuda_emu::order_name()) {
    cuda_emu::set_order(order.c_str());
  }
  ~ThreadOrder() { cuda_emu::set_order(before_.c_str()); }
#else
  explicit ThreadOrder(const std::string&) {}
#endif
  ThreadOrder(const ThreadOrder&) = delete;
  ThreadOrder& operator=(const ThreadOrder&) = delete;

 private:
  std::string before_;
};

// True if a read past the end of a buffer without guard bands is an error, as on the CPU backend.
#ifdef CUDA_EMU
constexpr bool kEndsShow = true;
#else
constexpr bool kEndsShow = false;
#endif

// One way to run a step on a case.
struct Variation {
  Offsets offsets;
  std::string order;
  bool guarded;        // with guard bands, if the plan has them
  bool again = false;  // a second run on the same buffers, with new data
};

// Returns true if CUDA_EMU_ORDER sets a random order. Such a run follows one in the default orders.
inline bool in_random_order() { return thread_orders().front().rfind("random", 0) == 0; }

// Returns the ways to run a step on pattern number `pattern` of `patterns`, at the plan's size number `turn`. The first
// two patterns run aligned, in every order of threads; the first one at a small size a second time, with new data. The
// second (or only) pattern also runs misaligned: in all ways of misalignments() at a small size, else in two. The
// others run in one way, which changes with the size. With in_turns the second pattern gets one order and two
// misalignments, and one of the others runs; all of these change with the size. A large size gets one order per pattern
// and one misalignment, a random order the first two patterns and one misalignment. Under AddressSanitizer a size gets
// one order: which accesses leave a buffer does not depend on it. On the CPU backend half of the ways have no guard
// bands, so that a read past an end is an error; on a GPU compute-sanitizer finds these.
inline std::vector<Variation> variations(const Problem& problem, const Size& size, std::size_t pattern,
                                         std::size_t patterns, std::size_t turn, bool in_turns = false) {
  constexpr double small_bytes = 1 << 17;
  const bool small = problem.bytes(size) <= small_bytes, large = problem.bytes(size) > kLargeBytes;
  const bool random = in_random_order();
  if (in_turns && pattern > 1 && pattern - 2 != turn % (patterns - 2)) return {};
  std::vector<std::string> orders = thread_orders(in_turns);
  if (kAddressSanitizer) orders = {orders[turn % orders.size()]};
  const std::vector<Offsets> off = misalignments(problem.buffers(size));
  const auto order = [&](std::size_t i) { return orders[i % orders.size()]; };
  const auto guarded = [](std::size_t i) { return !kEndsShow || i % 2 == 0; };
  const std::size_t first = in_turns ? turn : 0;
  const bool in_one_order = patterns > 1 && (large || (in_turns && pattern > 0));
  std::vector<Variation> all;
  if (pattern < 2) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (in_one_order && i != (first + pattern) % orders.size()) continue;
      all.push_back({0, orders[i], guarded(pattern + i), pattern == 0 && small && i == 0});
    }
  } else if (!random) {
    const std::size_t way = turn + pattern;
    all.push_back({way % 2 == 0 ? Offsets(0) : off[way / 2 % off.size()], order(way / 2), guarded(way / 4)});
  }
  if (pattern == std::min<std::size_t>(1, patterns - 1)) {
    for (std::size_t i = 0; i < (random || large ? 1 : small && !in_turns ? off.size() : 2); ++i) {
      all.push_back({off[(turn + i) % off.size()], order(first / off.size() + i), guarded(turn + i / 2)});
    }
  }
  return all;
}

// Returns two ways to run a step at the plan's size number `turn`, aligned and misaligned, for random data only.
inline std::vector<Variation> two_variations(const Problem& problem, const Size& size, std::size_t turn) {
  const std::vector<std::string> orders = thread_orders();
  const std::vector<Offsets> off = misalignments(problem.buffers(size));
  return {{0, orders[0], true}, {off[turn % off.size()], orders[turn % orders.size()], !kEndsShow}};
}

// The check in progress, for reports that end the program.
struct Running {
  const Step* step = nullptr;
  Failure how;
  const DeviceCase* device = nullptr;
};
inline Running running;

// Runs `step` on the case in one way. A failure in the verdict says which.
inline Verdict check_way(const Step& step, const Case& host, const Variation& way, const CheckPlan& plan,
                         std::size_t* checks) {
  const Problem& problem = *step.problem;
  const ThreadOrder order(way.order);
  running = {&step, at_size(problem, host.size()), nullptr};
  Failure& how = running.how;
  how.data = host.pattern().name;
  how.offsets = describe(way.offsets, host.buffers());
  how.order = way.order;

  DeviceCase device(host, way.offsets, plan.guarded && way.guarded, problem.place());
  running.device = &device;
  Verdict all = check_candidates(step, device);
  if (checks) ++*checks;
  if (all.ok() && way.again) {
    how.second_run = true;
    Case other(problem, host.size(), host.pattern(), plan.seed + 1);
    other.lenient = host.lenient;
    other.zeroed = host.zeroed;
    device.load(other);
    const Verdict again = check_candidates(step, device);
    if (checks) ++*checks;
    all.worst = std::max(all.worst, again.worst);
    all.failure = again.failure;
    if (!all.ok()) all.failure->writer = last_writer(step, device, *all.failure);
  } else if (!all.ok()) {
    all.failure->writer = last_writer(step, device, *all.failure);
  }
  for (std::optional<Failure>* failure : {&all.failure, &all.excused}) {
    if (*failure) (*failure)->run_as(how);
  }
  running = {};
  candidate_run() = {};
  return all;
}

// Returns true if a dimension that must be given is 0.
inline bool is_empty(const Problem& problem, const Size& size) {
  const std::vector<Dim> dims = problem.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].gpu_default > 0 && size[d] == 0) return true;
  }
  return false;
}

// Returns a remark if an interviewer would accept this failure. Accesses outside the arrays are never accepted.
inline std::optional<Remark> excuse(const Step& step, const Case& host, const Variation& way, const CheckPlan& plan,
                                    const Failure& failure) {
  const Problem& problem = *step.problem;
  const bool is_wrong = failure.what == Failure::What::value || failure.what == Failure::What::unwritten ||
                        failure.what == Failure::What::values;
  const bool is_refused = failure.error == "cudaErrorInvalidConfiguration" || failure.error == "cudaErrorInvalidValue";
  if (is_empty(problem, host.size()) && (is_wrong || is_refused)) return Remark{"empty", "", failure};
  const std::string lesson = problem.corner(host.size(), host.pattern());
  if (!lesson.empty() && (is_wrong || is_refused)) return Remark{"corner", lesson, failure};
  if (failure.offsets.empty() || !(is_wrong || failure.error == "cudaErrorMisalignedAddress")) return {};
  Variation aligned = way;
  aligned.offsets = 0;
  if (!check_way(step, host, aligned, plan, nullptr).ok()) return {};
  return Remark{"alignment", "", failure};
}

// Checks `step` on every size and pattern of the plan, in the ways of variations(), or with every_pattern false on the
// first pattern in the ways of two_variations(). Stops at the first failure.
inline Verdict check_all(const Step& step, const CheckPlan& plan, std::size_t* checks = nullptr,
                         std::size_t* sizes_left = nullptr) {
  const Problem& problem = *step.problem;
  Verdict all;
  const std::clock_t begin = std::clock();
  bool aligned_only = plan.aligned;
  const auto note = [&](const Remark& remark) {
    aligned_only |= remark.kind == "alignment";
    const auto same = [&](const Remark& r) { return r.kind == remark.kind && r.lesson == remark.lesson; };
    std::vector<Remark>& remarks = *plan.remarks;
    if (std::none_of(remarks.begin(), remarks.end(), same)) remarks.push_back(remark);
  };
  for (std::size_t s = 0; s < plan.sizes.size(); ++s) {
    if (plan.seconds > 0 && std::clock() - begin > plan.seconds * CLOCKS_PER_SEC) {
      if (sizes_left) *sizes_left = plan.sizes.size() - s;
      break;
    }
    const Size& size = plan.sizes[s];
    std::vector<Pattern> patterns = patterns_for(problem, size);
    if (!plan.every_pattern) patterns.resize(1);
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      if (!plan.data.empty() && plan.data != patterns[p].name) continue;
      const std::vector<Variation> ways = plan.every_pattern
                                              ? variations(problem, size, p, patterns.size(), s, plan.in_turns)
                                              : two_variations(problem, size, s);
      if (ways.empty()) continue;
      Case host(problem, size, patterns[p], plan.seed);
      host.lenient = plan.remarks != nullptr;
      host.zeroed = plan.zeroed;
      const auto is_aligned = [&](const Variation& way) { return describe(way.offsets, host.buffers()).empty(); };
      const bool some_aligned = std::any_of(ways.begin(), ways.end(), is_aligned);
      for (std::size_t w = 0; w < ways.size(); ++w) {
        Variation way = ways[w];
        if (aligned_only && !is_aligned(way)) {
          if (some_aligned || w > 0) continue;
          way.offsets = 0;
        }
        const Verdict one = check_way(step, host, way, plan, checks);
        all.worst = std::max(all.worst, one.worst);
        if (one.excused && problem.corner(size, patterns[p]).empty()) note({"NaN", "", *one.excused});
        if (one.ok()) continue;
        const std::optional<Remark> remark = plan.remarks ? excuse(step, host, way, plan, *one.failure) : std::nullopt;
        if (!remark) {
          all.failure = one.failure;
          return all;
        }
        note(*remark);
      }
    }
  }
  return all;
}

}  // namespace ladder
