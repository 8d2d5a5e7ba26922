// A timer for each OS thread that runs kernels. It counts CPU time, so a loaded machine or a stopped program does not
// look like an endless loop.
#include "report.hpp"

#ifdef __linux__

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "scheduler.hpp"
#include "settings.hpp"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace cuda_emu {
namespace {

constexpr int kTimedOut = 124;  // the exit status of timeout(1)
constexpr int kTicks = 4;       // per timeout

std::atomic_flag reported = ATOMIC_FLAG_INIT;
thread_local bool is_watched = false;

void tick(int, siginfo_t*, void* context) {
  static thread_local Worker::Progress last = {};
  static thread_local int ticks = 0;
  if (current_worker == nullptr) return;
  const Worker::Progress now = current_worker->progress();
  ticks = now == last ? ticks + 1 : 0;
  last = now;
  if (ticks < kTicks || reported.test_and_set()) return;
  char cause[160];
  snprintf(cause, sizeof cause,
           "timed out: no thread of the block finished in %u s of CPU time; an endless loop? CUDA_EMU_TIMEOUT=0 waits "
           "for ever",
           settings().timeout);
  report_signal("time", cause, context);
  _exit(kTimedOut);
}

bool install() {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = &tick;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGPROF, &action, nullptr) == 0;
}

bool start_timer() {
  const unsigned seconds = settings().timeout;
  if (seconds == 0) return false;
  static const bool installed = install();
  if (!installed) return false;
  sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  timer_t timer;
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return false;
  itimerspec period;
  period.it_interval.tv_sec = seconds / kTicks;
  period.it_interval.tv_nsec = seconds % kTicks * (1000000000 / kTicks);
  period.it_value = period.it_interval;
  return timer_settime(timer, 0, &period, nullptr) == 0;
}

}  // namespace

void watch_time() {
  static thread_local const bool started = start_timer();
  is_watched = started;
}

void count_nap(std::chrono::microseconds asleep) {
  static thread_local std::chrono::microseconds sum{0};
  sum += asleep;
  if (!is_watched || sum < std::chrono::microseconds(std::chrono::seconds(settings().timeout)) / kTicks) return;
  sum = std::chrono::microseconds(0);
  raise(SIGPROF);
}

}  // namespace cuda_emu

#else

namespace cuda_emu {

void watch_time() {}
void count_nap(std::chrono::microseconds) {}

}  // namespace cuda_emu

#endif
