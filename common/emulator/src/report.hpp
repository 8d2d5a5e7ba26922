// What the user reads when something goes wrong.
#pragma once

#include <signal.h>

#include <chrono>
#include <string>

#include "cuda_emu/device.hpp"
#include "cuda_emu/report.hpp"

namespace cuda_emu {

class Worker;
struct Config;

// Where and why a report is made; for the rest see Report.
struct Problem {
  const char* cause;
  std::string text;
  std::string at = {};
  const void* address = nullptr;
};

inline std::string place(const Where& where) { return std::string(where.file) + ":" + std::to_string(where.line); }

// Prints the problem, the launch, and what each thread of the worker's block is doing. `kind` is error or warning.
void report(const Worker& worker, const Problem& problem, const char* kind = "error");

// Prints what was wrong with memory after a launch.
void report_memory(const Config& config, const Problem& problem);

// Hands to on_report() why a call of CUDA's fails, which its caller will say too.
void report_refusal(const Problem& problem);
void report_refusal(const Config& config, const std::string& text);

// Hands a report that ends the program to on_report().
void report_fatal(const Problem& problem);

// "in kernel k, block (0,0,0), thread (5,0,0); launched at ...": the current thread, empty in host code.
void describe_current_thread(char* text, unsigned size);

// Fatal signals in a kernel print the current thread and go on to the handlers that were there before. Called for
// each launch, since test frameworks put their own handlers in place for each test.
void watch_signals();

// Ends the program when the kernels on this OS thread have made no progress for the time in settings(). Where the
// system has no timers for single threads, nothing watches.
void watch_time();

// Counts the time that this OS thread slept as the CPU time that it would have taken to poll instead.
void count_nap(std::chrono::microseconds asleep);

// While it lives, signals that end the program, such as Ctrl-C, do so to this OS thread, or go to another or wait.
// Only a thread inside a kernel can say where it is.
class Interrupts {
 public:
  enum Kind { come, wait };
  explicit Interrupts(Kind kind);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  sigset_t before_;
};

// From a signal handler: prints the problem, the current thread, and the line of the .cu file that was interrupted.
// `context` is what the handler got; `address` what could not be accessed, if that is it.
void report_signal(const char* cause, const char* problem, const void* context, const void* address = nullptr);

// For an OS thread that runs kernels: lets the handler run when a kernel's stack has overflowed.
void use_signal_stack();

}  // namespace cuda_emu

// Called right after an error is printed: a place for a breakpoint.
extern "C" void cuda_emu_error();
