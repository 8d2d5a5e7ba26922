#include "fiber.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Both stacks have the same layout here, so one .cfi description serves debuggers and backtraces on both.
#ifndef CUDA_EMU_UCONTEXT
#if defined(__x86_64__)
asm(R"(
.text
.globl cuda_emu_switch_stack
.type cuda_emu_switch_stack, @function
.p2align 4
cuda_emu_switch_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r12, 0
  pushq %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r13, 0
  pushq %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r14, 0
  pushq %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r15, 0
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore r15
  popq %r14
  .cfi_adjust_cfa_offset -8
  .cfi_restore r14
  popq %r13
  .cfi_adjust_cfa_offset -8
  .cfi_restore r13
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore r12
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbx
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbp
  ret
  .cfi_endproc
.size cuda_emu_switch_stack, . - cuda_emu_switch_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl cuda_emu_switch_stack
.type cuda_emu_switch_stack, %function
.p2align 4
cuda_emu_switch_stack:
  .cfi_startproc
  sub sp, sp, #160
  .cfi_adjust_cfa_offset 160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  .cfi_rel_offset x29, 80
  .cfi_rel_offset x30, 88
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  .cfi_adjust_cfa_offset -160
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
.size cuda_emu_switch_stack, . - cuda_emu_switch_stack
)");
#endif
#endif

#ifdef CUDA_EMU_ASAN
// g++ 13 and later turn this on by default; then each fiber gets a fake stack, gigabytes in all.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "detect_stack_use_after_return=0";
}
#endif

namespace cuda_emu {
namespace {

// Wide enough that a frame with a large array does not skip the guard. The extra page makes a stack and its guard an
// odd number of pages, so the hot pages of neighbouring stacks map to different TLB sets.
constexpr std::size_t kGuardSize = (64 << 10) + (4 << 10);

std::atomic<std::size_t> live_stacks{0};

}  // namespace

Fiber::Fiber(std::size_t stack_size, std::size_t colour, Entry entry)
    : stack_size_(stack_size), colour_(colour), entry_(entry) {
  void* mapping = mmap(nullptr, kGuardSize + stack_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED || mprotect(mapping, kGuardSize, PROT_NONE) != 0) {
    fprintf(
        stderr,
        "cuda_emu: error: no memory for the stack of a CUDA thread (%s); lower CUDA_EMU_STACK or CUDA_EMU_WORKERS\n",
        strerror(errno));
    _Exit(2);
  }
  ++live_stacks;
  stack_ = static_cast<char*>(mapping) + kGuardSize;
  prepare_context();
}

Fiber::~Fiber() {
  if (!owns_stack()) return;
  --live_stacks;
  unpoison(stack_, stack_size_);
  munmap(stack_ - kGuardSize, kGuardSize + stack_size_);
}

std::size_t Fiber::stack_count() { return live_stacks; }

void Fiber::restart() {
  unpoison(stack_, stack_size_);
#ifdef CUDA_EMU_ASAN
  fake_stack_ = nullptr;
#endif
  prepare_context();
}

bool Fiber::guard_contains(const void* address) const {
  const char* byte = static_cast<const char*>(address);
  return byte >= stack_ - kGuardSize && byte < stack_;
}

// Device memory may be next to a guard, so a wild access can hit the guard, too. In a stack overflow the stack pointer
// is in the guard already (a large frame), or the access is right below the pointer (a call, a probe).
bool Fiber::is_overflow(const void* address, const void* stack_pointer) const {
  constexpr std::ptrdiff_t kReach = 4096;
  if (!owns_stack()) return false;
  if (stack_pointer == nullptr) return guard_contains(address);
  const char* pointer = static_cast<const char*>(stack_pointer);
  if (pointer < stack_) return true;
  return guard_contains(address) && pointer - static_cast<const char*>(address) <= kReach;
}

void Fiber::start() {
#ifdef CUDA_EMU_ASAN
  arrive(*previous_);
#endif
  current->entry_();
  abort();
}

#ifdef CUDA_EMU_ASAN
void Fiber::arrive(Fiber& from) {
  const void* stack = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(current->fake_stack_, &stack, &size);
  if (from.stack_size_ == 0) {  // an OS thread's stack: only ASan knows its bounds
    from.stack_ = const_cast<char*>(static_cast<const char*>(stack));
    from.stack_size_ = size;
  }
}
#endif

#ifdef CUDA_EMU_UCONTEXT

void Fiber::prepare_context() {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = stack_size_ - colour_;
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::start, 0);
}

#else

// Writes the stack frame that cuda_emu_switch_stack expects: zeros for all registers except the return address.
void Fiber::prepare_context() {
  std::uintptr_t top = reinterpret_cast<std::uintptr_t>(stack_ + stack_size_ - colour_) & ~std::uintptr_t(15);
#if defined(__x86_64__)
  constexpr std::size_t kSlots = 8;
  constexpr std::size_t kReturnAddress = 6;  // above it a null return address, where debuggers stop
#else
  constexpr std::size_t kSlots = 20;
  constexpr std::size_t kReturnAddress = 11;  // x30
#endif
  void** slots = reinterpret_cast<void**>(top) - kSlots;
  for (std::size_t i = 0; i < kSlots; ++i) slots[i] = nullptr;
  slots[kReturnAddress] = reinterpret_cast<void*>(&Fiber::start);
  stack_pointer_ = slots;
}

#endif

}  // namespace cuda_emu
