// Prints to standard error what a program is doing if that takes long, and ends the program at a time limit.
#pragma once
#include "record.hpp"

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ladder {

constexpr int kTimedOut = 124;  // exit status, the same as that of timeout(1)

class Progress {
 public:
  // No task may take more than `limit` seconds; 0: no limit. `quiet`: prints no lines.
  explicit Progress(unsigned limit, bool quiet = false) : limit_(limit), quiet_(quiet) {
    if (quiet && limit == 0) return;
    // The new thread blocks all signals: a handler on another thread can report where that thread is.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::thread([this] { watch(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Progress() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Starts a task: `who` (a step or kernel) is `doing` something, such as "checking n=1024". The time limit is
  // multiplied by `share`, which is above 1 for a task of several steps; 0: no limit.
  void begin(const std::string& who, const std::string& doing, std::size_t share = 1) {
    std::lock_guard<std::mutex> lock(mutex_);
    who_ = who;
    doing_ = doing;
    share_ = static_cast<double>(share);
    begin_ = Clock::now();
    give_up_ = {};
  }

  // If the current task takes more than `seconds`, calls `say` and ends the program with status 0: slow is not wrong.
  void give_up_after(double seconds, std::function<void()> say) {
    std::lock_guard<std::mutex> lock(mutex_);
    give_up_ = {seconds, std::move(say)};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct GiveUp {
    double seconds = 0;  // 0: never
    std::function<void()> say;
  };
  static constexpr double kFirst = 5, kEvery = 10;  // seconds before the first line, and between lines

  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    const Clock::time_point start = Clock::now();
    double next = kFirst;  // since the start
    while (!changed_.wait_for(lock, std::chrono::milliseconds(250), [&] { return done_; })) {
      const Clock::time_point now = Clock::now();
      const double age = seconds(now - begin_);
      if (give_up_.seconds > 0 && age >= give_up_.seconds) {
        give_up_.say();
        std::fflush(stdout);
        std::_Exit(0);
      }
      if (limit_ * share_ > 0 && age >= limit_ * share_) {
        const std::string what = "not done after " + format("%.0f", age) + " s: " + doing_;
        std::printf("%s: FAIL, %s\n", who_.c_str(), what.c_str());
        Record::write(json::Object().add_text("name", who_).add_text("failed", what).str());
        std::fflush(stdout);
        std::_Exit(kTimedOut);
      }
      if (quiet_ || seconds(now - start) < next || who_.empty()) continue;
      std::fprintf(stderr, "%s: %s, %.0f s\n", who_.c_str(), doing_.c_str(), age);
      next = seconds(now - start) + kEvery;
    }
  }

  static double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

  const double limit_;
  const bool quiet_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string who_, doing_;
  double share_ = 0;
  GiveUp give_up_;
  Clock::time_point begin_ = Clock::now();
  std::thread thread_;  // last: uses the members above
};

}  // namespace ladder
