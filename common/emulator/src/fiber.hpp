// Fibers: stacks that one OS thread switches between. A fiber never moves to another OS thread, because compilers may
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
// plain return, so the CPU's return prediction is right when fibers stop and resume at the same place.
extern "C" void cuda_emu_switch_stack(void** save, void* to);
#endif

namespace cuda_emu {

class Fiber {
 public:
  using Entry = void (*)();

  // Represents the stack that the OS thread already runs on.
  Fiber() = default;

  // Creates a fiber with its own stack, between guard pages. It calls `entry`, which must not return.
  Fiber(std::size_t stack_size, std::size_t colour, Entry entry);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Abandons what the fiber was doing; it starts again at `entry`.
  void restart();

  // Returns true if a failed access to `address` was an overflow of this fiber's stack. `stack_pointer` is the stack
  // pointer at the access, null if unknown.
  bool is_overflow(const void* address, const void* stack_pointer) const;

  // Returns the number of stacks, over all OS threads.
  static std::size_t stack_count();

  static inline thread_local Fiber* current = nullptr;

  static void switch_to(Fiber& to);

 private:
  static void start();
  static void arrive(Fiber& from);
  void prepare_context();

  bool guard_contains(const void* address) const;
  bool owns_stack() const { return entry_ != nullptr; }

  char* stack_ = nullptr;  // lowest address; for an OS thread's stack set only with ASan, after the first switch
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
