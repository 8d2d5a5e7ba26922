// A signal handler that prints which CUDA thread was running, and then calls the previous handler.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "report.hpp"
#include "runtime.hpp"
#include "scheduler.hpp"
#include "source_line.hpp"

namespace cuda_emu {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGXCPU};
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM, SIGXCPU};
constexpr std::size_t kSignalStackSize = 64 << 10;

struct sigaction previous_actions[NSIG];
std::atomic<pthread_t> first_reporter{};  // the thread whose signal is reported
std::atomic<bool> reported{false};

// Returns the stack pointer of the interrupted code; null if it is not known.
const void* stack_pointer_of(const ucontext_t& context) {
#if defined(__linux__) && defined(__x86_64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__linux__) && defined(__aarch64__)
  return reinterpret_cast<const void*>(context.uc_mcontext.sp);
#else
  (void)context;
  return nullptr;
#endif
}

struct Cause {
  const char *name, *problem;  // as in Report
};

Cause cause_of(int signal, const siginfo_t& info, const ucontext_t& context) {
  switch (signal) {
    case SIGFPE:
      return {"arithmetic", "SIGFPE: an integer division by zero, or one that overflows"};
    case SIGILL:
      return {"trap", "SIGILL: an illegal instruction"};
    case SIGABRT:
      return {"trap", "SIGABRT: a failed assertion, or a library that gave up"};
    case SIGINT:
      return {"interrupted", "SIGINT: interrupted"};
    case SIGTERM:
      return {"interrupted", "SIGTERM: told to end"};
    case SIGXCPU:
      return {"time", "SIGXCPU: over the limit on CPU time"};
    default:
      break;
  }
  if (Fiber::current->is_overflow(info.si_addr, stack_pointer_of(context))) {
    return {"stack", "stack overflow: local arrays or calls need more stack (CUDA_EMU_STACK, in KiB)"};
  }
  return {"address",
          signal == SIGBUS ? "SIGBUS: a misaligned or invalid address" : "SIGSEGV: a misaligned or invalid address"};
}

void handle(int signal, siginfo_t* info, void* context) {
  const bool access = signal == SIGSEGV || signal == SIGBUS;
  if (access && current_worker != nullptr && is_watched_write(info->si_addr)) return;  // and the write is repeated
  struct sigaction next;
  memset(&next, 0, sizeof next);
  next.sa_handler = SIG_DFL;
  // On a second call either the previous handler has called this one, or another thread fails too. That thread waits
  // until the first one is reported.
  pthread_t reporter{};
  const bool is_first = first_reporter.compare_exchange_strong(reporter, pthread_self());
  while (!is_first && reporter != pthread_self() && !reported) usleep(1000);
  if (is_first) {
    next = previous_actions[signal];
    if (current_worker != nullptr) {
      const Cause cause = cause_of(signal, *info, *static_cast<ucontext_t*>(context));
      report_signal(cause.name, cause.problem, context, access ? info->si_addr : nullptr);
    }
    reported = true;
  }
  sigaction(signal, &next, nullptr);
  // A fault happens again when the handler returns; a signal that was sent must be sent again.
  const bool is_fault =
      info->si_code > 0 && std::find(std::begin(kFaults), std::end(kFaults), signal) != std::end(kFaults);
  if (!is_fault) raise(signal);
}

void print(const char* text, int length, int size) {
  const ssize_t written = write(STDERR_FILENO, text, static_cast<std::size_t>(length < size ? length : size - 1));
  (void)written;
}

}  // namespace

Interrupts::Interrupts(Kind kind) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kInterrupts) sigaddset(&signals, signal);
  pthread_sigmask(kind == come ? SIG_UNBLOCK : SIG_BLOCK, &signals, &before_);
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void report_signal(const char* cause, const char* problem, const void* context, const void* address) {
  char where[1024];
  describe_current_thread(where, sizeof where);
  char text[1400];
  print(text, snprintf(text, sizeof text, "cuda_emu: error: %s\ncuda_emu: %s\n", problem, where), sizeof text);
  char line[1024] = "";
  if (find_source_line(context, line, sizeof line)) {
    print(text, snprintf(text, sizeof text, "cuda_emu: at %s\n", line), sizeof text);
  }
  cuda_emu_error();
  report_fatal({cause, problem, line, address});
}

void use_signal_stack() {
  stack_t existing;
  if (sigaltstack(nullptr, &existing) != 0 || (existing.ss_flags & SS_DISABLE) == 0) return;
  void* memory = mmap(nullptr, kSignalStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;  // then only the message about a stack overflow is lost
  stack_t stack;
  memset(&stack, 0, sizeof stack);
  stack.ss_sp = memory;
  stack.ss_size = kSignalStackSize;
  sigaltstack(&stack, nullptr);
}

void watch_signals() {
  static thread_local bool has_stack = false;
  struct sigaction current;
  sigaction(kSignals[0], nullptr, &current);
  const bool installed = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == &handle;
  if (!has_stack || !installed) {  // code that replaced the handler may have replaced the stack, too
    use_signal_stack();
    has_stack = true;
  }
  if (installed) return;
  prepare_source_lines();

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = &handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  first_reporter = pthread_t{};
  reported = false;
  for (const int signal : kSignals) {
    sigaction(signal, nullptr, &previous_actions[signal]);
    const bool ignored = previous_actions[signal].sa_handler == SIG_IGN;  // as in a shell's background jobs
    if (!ignored) sigaction(signal, &action, nullptr);
  }
}

}  // namespace cuda_emu
