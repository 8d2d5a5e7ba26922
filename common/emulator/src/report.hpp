// What the user reads when something goes wrong.
#pragma once

#include <signal.h>

#include <string>

namespace cuda_emu {

class Worker;
struct Config;

// Prints the problem, the launch, and what each thread of the worker's block is doing. `kind` is error or warning.
void report(const Worker& worker, const char* problem, const char* kind = "error");

// Prints what was wrong with memory after a launch.
void report_memory(const Config& config, const std::string& problem);

// "in kernel k, block (0,0,0), thread (5,0,0); launched at ...": the current thread, empty in host code.
void describe_current_thread(char* text, unsigned size);

// Fatal signals in a kernel print the current thread and go on to the handlers that were there before. Called for
// each launch, since test frameworks put their own handlers in place for each test.
void watch_signals();

// Ends the program when the kernels on this OS thread have made no progress for the time in settings(). Where the
// system has no timers for single threads, nothing watches.
void watch_time();

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

// From a signal handler: prints `cause`, the current thread, and the line of the .cu file that was interrupted.
// `context` is what the handler got.
void report_signal(const char* cause, const void* context);

// For an OS thread that runs kernels: lets the handler run when a kernel's stack has overflowed.
void use_signal_stack();

}  // namespace cuda_emu

// Called right after an error is printed: a place for a breakpoint.
extern "C" void cuda_emu_error();
