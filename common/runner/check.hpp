// Verification: does a step compute the right thing, write all of it, and write nothing else? check() runs a step on
// one case, check_all() on all that it must be right on.
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

// Runs a step on fresh poison and says whether all is right. A CUDA error is a verdict too, and is cleared where that
// is possible. If the step damaged what later steps need, it is put back.
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
    cudaDeviceReset();  // there, memory survives a reset
    device.reset();
#endif
  }
  return verdict;
}

// check() of a step, and of a program for any shape with each of its candidates that accepts the case. If something is
// wrong, candidate_run() still asks for the candidate that did it.
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

// A failure at this size, of which nothing else is known yet.
inline Failure at_size(const Problem& problem, const Size& size) {
  Failure failure;
  failure.size = describe(problem, size);
  for (const std::string& one : assignments(problem, size, "%.9g")) failure.options.push_back("--" + one);
  return failure;
}

constexpr double kLargeBytes = 1 << 20;  // of a size that is run in fewer ways

// The patterns to try at a size: all of the problem's, but at a large size only the first two.
inline std::vector<Pattern> patterns_for(const Problem& problem, const Size& size) {
  constexpr std::size_t when_large = 2;
  std::vector<Pattern> patterns = problem.patterns();
  if (problem.bytes(size) > kLargeBytes && patterns.size() > when_large) patterns.resize(when_large);
  return patterns;
}

// Does a device of compute capability `capability` (90 for 9.0) run what is compiled for `needs`? "sm_90" runs there
// and on all newer devices, "sm_90a" there alone.
inline bool meets(int capability, const std::string& needs) {
  if (needs.empty()) return true;
  const int wanted = std::stoi(needs.substr(std::strlen("sm_")));
  return needs.back() == 'a' ? capability == wanted : capability >= wanted;
}

// Takes the steps that the current device cannot run out of steps().
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

// A plan's sizes with the smallest first, so that a failure names the smallest size that fails.
inline void sort_by_bytes(const Problem& problem, std::vector<Size>& sizes) {
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](const Size& a, const Size& b) { return problem.bytes(a) < problem.bytes(b); });
}

// At most `count` of the sizes whose data take at most `bytes`, spread evenly over them.
inline std::vector<Size> some_sizes(const Problem& problem, std::vector<Size> sizes, std::size_t count, double bytes) {
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [&](const Size& size) { return problem.bytes(size) > bytes; }),
              sizes.end());
  std::vector<Size> some;
  for (std::size_t i = 0; i < std::min(count, sizes.size()); ++i) {
    some.push_back(sizes[i * (sizes.size() - 1) / std::max<std::size_t>(std::min(count, sizes.size()) - 1, 1)]);
  }
  return some;
}

// In a traced build: runs the step again, and says who wrote the wrong value last, as Failure::writer. Else nothing.
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

// What a candidate's kernel may get wrong and still pass an interview, once for each kind.
struct Remark {
  std::string kind;    // "alignment", "empty", "NaN" or "corner"
  std::string lesson;  // of a corner: what the problem says of it
  Failure failure;
};

// How check_all goes about it.
struct CheckPlan {
  std::vector<Size> sizes;
  std::uint64_t seed = 1;
  bool guarded = !kAddressSanitizer;
  bool every_pattern = true;  // else random data only, aligned and with one misalignment
  bool in_turns = false;      // of kinds, misalignments and a third order of threads a few at each size: all come up
  std::string data;           // only this kind of data; empty: all
  bool aligned = false;       // no misaligned buffers
  bool zeroed = false;        // outputs hold zeros, not poison
  unsigned seconds = 0;       // of CPU time, after which no other size is begun; 0: no limit
  std::vector<Remark>* remarks = nullptr;  // given: what an interviewer would let pass is noted there
};

// The orders of threads to check in: on the CPU backend forward and reverse, in turns a random one too, or the one that
// CUDA_EMU_ORDER asks for; a GPU has its own.
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

// Sets the order of threads as long as this lives.
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

// Is reading past the end of a buffer without guard bands an error? On the CPU backend it is.
#ifdef CUDA_EMU
constexpr bool kEndsShow = true;
#else
constexpr bool kEndsShow = false;
#endif

// One way to run a step on a case.
struct Variation {
  Offsets offsets;
  std::string order;
  bool guarded;        // guard bands round the buffers, where the plan has them
  bool again = false;  // once more on the same buffers, with new data
};

// Does CUDA_EMU_ORDER ask for a random order? Such a run follows one in the plain orders.
inline bool in_random_order() { return thread_orders().front().rfind("random", 0) == 0; }

// The ways to run a step on pattern number `pattern` of `patterns` at a size. The first pattern is run aligned, in all
// orders, and at a small size again with new data; the second so too (in turns in one order, another one at each size),
// and at a small size with each misalignment. Otherwise one way must do, a different one for each size, of which this is
// number `turn`. At a large size each pattern is run in one order. In a random order alone only the order is new: of the
// misalignments one must do, and of the patterns two. With sanitizers the sizes take turns with the orders, on which it
// does not depend which accesses leave a buffer. On the CPU backend half of the ways are without guard bands, so that
// reading past an end is an error there; on a GPU that is the sanitizer's work.
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

// The ways to run a step at a size, of which this is number `turn`, where only its paths count, not the data.
inline std::vector<Variation> two_variations(const Problem& problem, const Size& size, std::size_t turn) {
  const std::vector<std::string> orders = thread_orders();
  const std::vector<Offsets> off = misalignments(problem.buffers(size));
  return {{0, orders[0], true}, {off[turn % off.size()], orders[turn % orders.size()], !kEndsShow}};
}

// How a step is being run, for those who report what ends the program.
struct Running {
  const Step* step = nullptr;
  Failure how;
  const DeviceCase* device = nullptr;
};
inline Running running;

// Runs `step` on the case in this way. If something is wrong, the verdict says where.
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

// Is a dimension 0 that must be given?
inline bool is_empty(const Problem& problem, const Size& size) {
  const std::vector<Dim> dims = problem.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].gpu_default > 0 && size[d] == 0) return true;
  }
  return false;
}

// Why an interviewer would let this failure pass; nothing where it stands. Memory outside the arrays is never excused.
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

// Checks `step` on every size of the plan, with all patterns for that size, in the ways of variations(), or with the
// first in those of two_variations(); stops at the first failure, which names them.
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
