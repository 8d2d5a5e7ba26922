// Error reports: printed for the user, and passed to the handler of on_report().
#pragma once

#include <signal.h>

#include <chrono>
#include <string>

#include "cuda_emu/device.hpp"
#include "cuda_emu/report.hpp"

namespace cuda_emu {

class Worker;
struct Config;

// The cause and position of an error. The fields have the meaning of those in Report; `text` is Report::problem.
struct Problem {
  const char* cause;
  std::string text;
  std::string at = {};
  const void* address = nullptr;
};

inline std::string place(const Where& where) { return std::string(where.file) + ":" + std::to_string(where.line); }

// Prints the problem, the launch, and what each thread of the worker's block is doing. `kind` is error or warning.
void report(const Worker& worker, const Problem& problem, const char* kind = "error");

// Reports an error that was found before or after a launch, while no kernel ran.
void report_memory(const Config& config, const Problem& problem);

// Passes to the handler the reason why a CUDA call fails. Prints nothing: the program prints the returned error.
void report_refusal(const Problem& problem);
void report_refusal(const Config& config, const std::string& text);

// Passes a report of a fatal error to the handler.
void report_fatal(const Problem& problem);

// Writes "in kernel k, block (0,0,0), thread (5,0,0); launched at ...", for the current thread; "" in host code.
void describe_current_thread(char* text, unsigned size);

// Installs handlers that print the current thread on a fatal signal in a kernel, and then call the previous handlers.
// Called for each launch, because test frameworks install their own handlers for each test.
void watch_signals();

// Starts a timer that ends the program if no CUDA thread on this OS thread finishes within settings().timeout. Does
// nothing where the system has no timers for single threads.
void watch_time();

// Adds the time that this OS thread slept to the CPU time that watch_time() measures.
void count_nap(std::chrono::microseconds asleep);

// While the object lives, this OS thread receives (come) or blocks (wait) the signals that interrupt the program, such
// as Ctrl-C. They should reach a thread inside a kernel, because only that one can report its position.
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

// Prints the problem, the current thread, and the interrupted line of the .cu file. Called in a signal handler.
// `context` is the handler's argument; `address` is the address of a failed access, null for other signals.
void report_signal(const char* cause, const char* problem, const void* context, const void* address = nullptr);

// Gives this OS thread a signal stack, so the handler can run when a kernel's stack has overflowed.
void use_signal_stack();

}  // namespace cuda_emu

// Called right after an error is printed: set a breakpoint here.
extern "C" void cuda_emu_error();
