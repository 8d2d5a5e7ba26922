#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sanitizers.hpp"
#include "scheduler.hpp"

namespace cuda_emu {
namespace {

constexpr int kShownRanges = 4;

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[512];
  snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

std::string format_index(const uint3& index) { return format("(%u,%u,%u)", index.x, index.y, index.z); }

ReportHandler handler = nullptr;

void hand_on(const Report& report) {
  [[maybe_unused]] const trace::Pause pause;
  if (handler != nullptr) handler(report);
}

// Returns a report with the launch, if `config` is not null, and the current CUDA thread, if this OS thread runs one.
Report start_report(const Config* config, const Problem& problem, const char* kind) {
  Report report;
  report.kind = kind;
  report.cause = problem.cause;
  report.problem = problem.text;
  report.at = problem.at;
  report.address = problem.address;
  if (config == nullptr) return report;
  report.kernel = config->kernel;
  report.launched = place(config->where);
  if (current_worker != nullptr) {
    report.has_thread = true;
    const uint3 at[] = {blockIdx, threadIdx};
    for (const auto& [index, out] : {std::pair(at[0], report.block), std::pair(at[1], report.thread)}) {
      out[0] = index.x;
      out[1] = index.y;
      out[2] = index.z;
    }
  }
  return report;
}

// Returns the position where a thread waits or trapped; empty if it runs.
std::string place_of(const Thread& thread) {
  switch (thread.state) {
    case ThreadState::at_block_barrier:
    case ThreadState::at_grid_barrier:
    case ThreadState::trapped:
      return place(*thread.where);
    case ThreadState::at_warp_collective:
      return place(*thread.collective->where);
    default:
      return "";
  }
}

// What threads are doing, as "waits in ..." (one thread) and "wait in ..." (several).
struct Activity {
  std::string one;
  std::string several;
};

Activity waiting_in(const std::string& what) { return {"waits in " + what, "wait in " + what}; }

Activity activity_of(const Thread& thread, bool started) {
  if (started) {
    switch (thread.state) {
      case ThreadState::at_block_barrier:
      case ThreadState::at_grid_barrier:
        return waiting_in(std::string(thread.where->what) + " at " + place(*thread.where));
      case ThreadState::at_warp_collective: {
        const Collective& part = *thread.collective;
        const std::string mask = part.op == WarpOp::converge ? "" : format("(mask 0x%08x)", part.mask);
        return waiting_in(part.where->what + mask + " at " + place(*part.where));
      }
      case ThreadState::trapped: {
        const std::string what = std::string(thread.where->what) + " at " + place(*thread.where);
        return {"executed " + what, "executed " + what};
      }
      case ThreadState::returned:
        return {"returned from the kernel", "returned from the kernel"};
      case ThreadState::yielding:
        return {"spins, polling memory", "spin, polling memory"};
      case ThreadState::running:
      case ThreadState::ready:
        break;
    }
  }
  return {"runs, or has not started", "run, or have not started"};
}

struct Group {
  Activity activity;
  std::vector<unsigned> threads;
};

std::vector<Group> group_by_activity(const Worker& worker) {
  const std::vector<bool> started = worker.started_threads();
  std::vector<Group> groups;
  for (unsigned i = 0; i < worker.thread_count(); ++i) {
    Activity activity = activity_of(worker.thread(i), started[i]);
    Group* found = nullptr;
    for (Group& group : groups) {
      if (group.activity.one == activity.one) found = &group;
    }
    if (found == nullptr) {
      groups.push_back({std::move(activity), {}});
      found = &groups.back();
    }
    found->threads.push_back(i);
  }
  return groups;
}

// Formats runs of consecutive threads as "(0,0,0)-(71,0,0) (80,0,0)".
std::string format_threads(const Worker& worker, const std::vector<unsigned>& threads) {
  std::string text;
  int shown = 0;
  for (std::size_t begin = 0, end; begin < threads.size(); begin = end) {
    end = begin + 1;
    while (end < threads.size() && threads[end] == threads[end - 1] + 1) ++end;
    if (++shown > kShownRanges) return text + " ...";
    text += " " + format_index(worker.thread(threads[begin]).index);
    if (end - begin > 1) text += "-" + format_index(worker.thread(threads[end - 1]).index);
  }
  return text;
}

void print_current_thread() {
  char text[1024];
  describe_current_thread(text, sizeof text);
  if (*text != '\0') fprintf(stderr, "cuda_emu: %s\n", text);
}

}  // namespace

ReportHandler on_report(ReportHandler next) { return std::exchange(handler, next); }

void report(const Worker& worker, const Problem& problem, const char* kind) {
  const Config& config = worker.launch().config;
  Report facts = start_report(&config, problem, kind);
  if (facts.at.empty()) facts.at = place_of(worker.thread(worker.current_thread()));
  std::string text = std::string("cuda_emu: ") + kind + ": " + problem.text + "\n";
  text += std::string("  kernel ") + config.kernel + ", launched at " + place(config.where);
  text += " with grid " + format_index(config.grid) + ", block " + format_index(config.block);
  text += "; in block " + format_index(blockIdx) + ":\n";
  for (const Group& group : group_by_activity(worker)) {
    const std::size_t count = group.threads.size();
    const Activity& activity = group.activity;
    facts.groups.push_back({static_cast<unsigned>(count), count == 1 ? activity.one : activity.several,
                            format_threads(worker, group.threads).substr(1)});
    text +=
        count == 1 ? "    1 thread " + group.activity.one : format("    %zu threads ", count) + group.activity.several;
    text += ":" + format_threads(worker, group.threads) + "\n";
  }
  text += format("  thread order: CUDA_EMU_ORDER=%s\n", order_name());
  fputs(text.c_str(), stderr);
  if (strcmp(kind, "error") == 0) cuda_emu_error();
  hand_on(facts);
}

void report_memory(const Config& config, const Problem& problem) {
  fprintf(stderr, "cuda_emu: error: %s\n  kernel %s, launched at %s:%d\n", problem.text.c_str(), config.kernel,
          config.where.file, config.where.line);
  cuda_emu_error();
  hand_on(start_report(&config, problem, "error"));
}

void report_refusal(const Problem& problem) { hand_on(start_report(nullptr, problem, "error")); }

void report_refusal(const Config& config, const std::string& text) {
  hand_on(start_report(&config, {"launch", text, place(config.where)}, "error"));
}

void report_fatal(const Problem& problem) {
  const Config* config = current_worker != nullptr ? &current_worker->launch().config : nullptr;
  Report report = start_report(config, problem, "error");
  report.fatal = true;
  hand_on(report);
}

void describe_current_thread(char* text, unsigned size) {
  *text = '\0';
  if (current_worker == nullptr) return;
  const Config& config = current_worker->launch().config;
  snprintf(text, size, "in kernel %s, block (%u,%u,%u), thread (%u,%u,%u); launched at %s:%d, CUDA_EMU_ORDER=%s",
           config.kernel, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, config.where.file,
           config.where.line, order_name());
}

void called_outside_kernel(const char* operation) {
  fprintf(stderr, "cuda_emu: error: %s used outside a kernel\n", operation);
  cuda_emu_error();
  report_fatal({"unsupported", std::string(operation) + " used outside a kernel"});
  abort();
}

}  // namespace cuda_emu

extern "C" __attribute__((noinline)) void cuda_emu_error() {
  asm volatile("");  // keeps the compiler from removing calls of an empty function
}

// The sanitizers call these before they print a report.
#ifdef CUDA_EMU_ASAN
extern "C" void __asan_on_error() {
  cuda_emu::print_current_thread();
  cuda_emu::report_fatal({"sanitizer", "", "", __asan_get_report_address()});
}
#endif
extern "C" void __ubsan_on_report() {
  cuda_emu::print_current_thread();
  cuda_emu::report_fatal({"sanitizer", ""});
}

#ifndef CUDA_EMU_ASAN
namespace {

// The argument that compilers pass to the handlers below, as in libubsan (ubsan_handlers.h, ubsan_value.h).
struct TypeDescriptor {
  unsigned short kind, info;
  char name[1];  // null-terminated, of any length
};
struct TypeMismatch {
  const char* file;
  unsigned line, column;
  const TypeDescriptor* type;
  unsigned char log_alignment;
  unsigned char access;
};

}  // namespace

// Called where translated code turns a float into an integer that cannot hold it.
struct FloatCast {
  const char* file;
  unsigned line, column;
  const TypeDescriptor *from, *to;
};
extern "C" void __ubsan_handle_float_cast_overflow(const FloatCast* cast, std::uintptr_t) {
  if (cuda_emu::current_worker == nullptr) return;
  static std::mutex mutex;
  static auto& warned = *new std::vector<const FloatCast*>;
  std::lock_guard<std::mutex> lock(mutex);
  if (std::find(warned.begin(), warned.end(), cast) != warned.end()) return;
  warned.push_back(cast);
  fprintf(stderr,
          "cuda_emu: warning: %s:%u: a value of type %s is outside %s: a GPU gives the nearest %s, a CPU does not\n",
          cast->file, cast->line, cast->from->name, cast->to->name, cast->to->name);
  cuda_emu::print_current_thread();
}

// Called where translated code is about to make a misaligned access.
extern "C" [[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(const TypeMismatch* mismatch,
                                                                   std::uintptr_t address) {
  const std::string at = cuda_emu::format("%s:%u", mismatch->file, mismatch->line);
  const std::string problem = cuda_emu::format("misaligned address 0x%llx: %s at %s:%u needs a multiple of %u bytes",
                                               static_cast<unsigned long long>(address), mismatch->type->name,
                                               mismatch->file, mismatch->line, 1u << mismatch->log_alignment);
  if (cuda_emu::current_worker == nullptr) {
    fprintf(stderr, "cuda_emu: error: %s\n", problem.c_str());
    cuda_emu_error();
    cuda_emu::report_fatal({"misaligned", problem, at});
    abort();
  }
  const std::string thread = ", in thread " + cuda_emu::format_index(threadIdx);
  cuda_emu::current_worker->fail({"misaligned", problem + thread, at}, cudaErrorMisalignedAddress);
}
#endif
