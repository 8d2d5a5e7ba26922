// A signal handler that says which CUDA thread was running, and leaves the rest to the handlers before it.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "report.hpp"
#include "runtime.hpp"
#include "scheduler.hpp"

namespace cuda_emu {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kSignalStackSize = 64 << 10;

struct sigaction previous_actions[NSIG];
volatile sig_atomic_t handled = 0;

// Where the interrupted code had its stack pointer; null where that is not known.
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

const char* cause_of(int signal, const siginfo_t& info, const ucontext_t& context) {
  switch (signal) {
    case SIGFPE:
      return "SIGFPE: an integer division by zero, or one that overflows";
    case SIGILL:
      return "SIGILL: an illegal instruction";
    case SIGABRT:
      return "SIGABRT: a failed assertion, or a library that gave up";
    default:
      break;
  }
  if (current_worker->is_stack_overflow(info.si_addr, stack_pointer_of(context))) {
    return "stack overflow: local arrays or calls need more stack (CUDA_EMU_STACK, in KiB)";
  }
  return signal == SIGBUS ? "SIGBUS: a misaligned or invalid address" : "SIGSEGV: a misaligned or invalid address";
}

void print_cause(const char* cause) {
  char where[1024];
  describe_current_thread(where, sizeof where);
  char text[1400];
  int length = snprintf(text, sizeof text, "cuda_emu: error: %s\ncuda_emu: %s\n", cause, where);
  if (length >= static_cast<int>(sizeof text)) length = sizeof text - 1;
  const ssize_t written = write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  (void)written;
  cuda_emu_error();
}

void handle(int signal, siginfo_t* info, void* context) {
  const bool access = signal == SIGSEGV || signal == SIGBUS;
  if (access && current_worker != nullptr && is_watched_write(info->si_addr)) return;  // and the write happens
  struct sigaction next;
  memset(&next, 0, sizeof next);
  next.sa_handler = SIG_DFL;
  if (!handled) {  // a second time means that the handler before this one came back to it
    handled = 1;
    next = previous_actions[signal];
    if (current_worker != nullptr) print_cause(cause_of(signal, *info, *static_cast<ucontext_t*>(context)));
  }
  sigaction(signal, &next, nullptr);
  // A fault happens again when the handler returns; a signal that was sent must be sent again.
  const bool is_fault = info->si_code > 0 && signal != SIGABRT;
  if (!is_fault) raise(signal);
}

}  // namespace

void use_signal_stack() {
  stack_t existing;
  if (sigaltstack(nullptr, &existing) != 0 || (existing.ss_flags & SS_DISABLE) == 0) return;
  void* memory = mmap(nullptr, kSignalStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;  // only the message about a stack overflow would be lost
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
  if (!has_stack || !installed) {  // whoever took the handler away may have taken the stack, too
    use_signal_stack();
    has_stack = true;
  }
  if (installed) return;

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = &handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  handled = 0;
  for (const int signal : kSignals) sigaction(signal, &action, &previous_actions[signal]);
}

}  // namespace cuda_emu
