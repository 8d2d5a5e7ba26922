// Fibers: stacks that one OS thread switches between. A fiber never moves to another OS thread, since compilers may
// keep addresses of thread-local variables across a switch.
#pragma once

#include <cstddef>

#include "sanitizers.hpp"

#if !defined(CUDA_EMU_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define CUDA_EMU_UCONTEXT 1
#endif

#ifdef CUDA_EMU_UCONTEXT
#include <ucontext.h>
#else
// Saves the callee-saved registers on the stack and the stack pointer in *save, then continues at `to`. It ends in a
// plain return: that keeps the processor's return prediction right when fibers stop and go on at the same place.
extern "C" void cuda_emu_switch_stack(void** save, void* to);
#endif

namespace cuda_emu {

class Fiber {
 public:
  using Entry = void (*)();

  // Stands for the stack that the OS thread runs on already.
  Fiber() = default;

  // Has its own stack, between guard pages, and calls `entry`, which must not return.
  Fiber(std::size_t stack_size, std::size_t colour, Entry entry);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Forgets whatever the fiber was doing; it begins again at its entry.
  void restart();

  // Did the access to `address` that failed run out of this fiber's stack? The stack pointer then, null if unknown.
  bool is_overflow(const void* address, const void* stack_pointer) const;

  // How many stacks there are, on all OS threads.
  static std::size_t stack_count();

  static inline thread_local Fiber* current = nullptr;

  static void switch_to(Fiber& to);

 private:
  static void start();
  static void arrive(Fiber& from);
  void prepare_context();

  bool guard_contains(const void* address) const;
  bool owns_stack() const { return entry_ != nullptr; }

  char* stack_ = nullptr;  // lowest address; of an OS thread's stack it is known to ASan alone, after the first switch
  std::size_t stack_size_ = 0;
  std::size_t colour_ = 0;
  Entry entry_ = nullptr;

#ifdef CUDA_EMU_UCONTEXT
  ucontext_t context_;
#else
  void* stack_pointer_ = nullptr;
#endif

#ifdef CUDA_EMU_ASAN
  void* fake_stack_ = nullptr;
  static inline thread_local Fiber* previous_ = nullptr;
#endif
};

inline void Fiber::switch_to(Fiber& to) {
  Fiber& from = *current;
  current = &to;
#ifdef CUDA_EMU_ASAN
  previous_ = &from;
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_, to.stack_size_);
#endif
#ifdef CUDA_EMU_UCONTEXT
  swapcontext(&from.context_, &to.context_);
#else
  cuda_emu_switch_stack(&from.stack_pointer_, to.stack_pointer_);
#endif
#ifdef CUDA_EMU_ASAN
  arrive(*previous_);
#endif
}

}  // namespace cuda_emu
