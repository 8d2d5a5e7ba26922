// The functions called by code that is built with -fsanitize=thread -fsanitize-coverage=trace-pc. They inform the trace
// instead of ThreadSanitizer. Outside traced kernels they record nothing.
#include <cstddef>
#include <cstdint>

#include "block_trace.hpp"
#include "last_write.hpp"
#include "scheduler.hpp"

using cuda_emu::BlockTrace;
using cuda_emu::trace::Op;

#define CALLER __builtin_return_address(0)

#define ACCESS(NAME, BYTES, OP, FUNCTION)                                                           \
  extern "C" void NAME(void* memory) {                                                              \
    if (Op::OP == Op::store) cuda_emu::trace::see_write(memory, BYTES, CALLER);                     \
    if (BlockTrace::active != nullptr) BlockTrace::active->FUNCTION(memory, BYTES, Op::OP, CALLER); \
  }
#define ACCESSES(BYTES)                                     \
  ACCESS(__tsan_read##BYTES, BYTES, load, aligned_access)   \
  ACCESS(__tsan_write##BYTES, BYTES, store, aligned_access) \
  ACCESS(__tsan_unaligned_read##BYTES, BYTES, load, access) \
  ACCESS(__tsan_unaligned_write##BYTES, BYTES, store, access)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

extern "C" {

void __tsan_read_range(void* memory, std::size_t size) {
  if (BlockTrace::active != nullptr) BlockTrace::active->access(memory, size, Op::load, CALLER);
}
void __tsan_write_range(void* memory, std::size_t size) {
  cuda_emu::trace::see_write(memory, size, CALLER);
  if (BlockTrace::active != nullptr) BlockTrace::active->access(memory, size, Op::store, CALLER);
}

void __tsan_init() {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}
void __tsan_func_entry(void*) {
  if (BlockTrace::active != nullptr) BlockTrace::active->enter_function();
}
void __tsan_func_exit() {
  if (BlockTrace::active != nullptr) BlockTrace::active->leave_function();
}
void __sanitizer_cov_trace_pc() {
  if (BlockTrace::active != nullptr) BlockTrace::active->basic_block(CALLER);
}

// Atomic operations of host code, and of kernels through atomics.hpp. The functions there inform the trace themselves.
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#define UPDATE(BITS, NAME)                                                                                          \
  std::uint##BITS##_t __tsan_atomic##BITS##_##NAME(volatile std::uint##BITS##_t* memory, std::uint##BITS##_t value, \
                                                   int) {                                                           \
    return __atomic_##NAME(memory, value, __ATOMIC_SEQ_CST);                                                        \
  }
#define COMPARE_EXCHANGE(BITS, STRENGTH, WEAK)                                                                    \
  int __tsan_atomic##BITS##_compare_exchange_##STRENGTH(                                                          \
      volatile std::uint##BITS##_t* memory, std::uint##BITS##_t* expected, std::uint##BITS##_t value, int, int) { \
    return __atomic_compare_exchange_n(memory, expected, value, WEAK, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
  }
// The variant that clang calls; it returns the old value.
#define COMPARE_EXCHANGE_VAL(BITS)                                                                               \
  std::uint##BITS##_t __tsan_atomic##BITS##_compare_exchange_val(                                                \
      volatile std::uint##BITS##_t* memory, std::uint##BITS##_t expected, std::uint##BITS##_t value, int, int) { \
    __atomic_compare_exchange_n(memory, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
    return expected;                                                                                             \
  }
#define ATOMICS(BITS)                                                                                                 \
  std::uint##BITS##_t __tsan_atomic##BITS##_load(const volatile std::uint##BITS##_t* memory, int) {                   \
    return __atomic_load_n(memory, __ATOMIC_SEQ_CST);                                                                 \
  }                                                                                                                   \
  void __tsan_atomic##BITS##_store(volatile std::uint##BITS##_t* memory, std::uint##BITS##_t value, int) {            \
    __atomic_store_n(memory, value, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                                   \
  std::uint##BITS##_t __tsan_atomic##BITS##_exchange(volatile std::uint##BITS##_t* memory, std::uint##BITS##_t value, \
                                                     int) {                                                           \
    return __atomic_exchange_n(memory, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                                   \
  UPDATE(BITS, fetch_add)                                                                                             \
  UPDATE(BITS, fetch_sub)                                                                                             \
  UPDATE(BITS, fetch_and)                                                                                             \
  UPDATE(BITS, fetch_or)                                                                                              \
  UPDATE(BITS, fetch_xor)                                                                                             \
  COMPARE_EXCHANGE(BITS, strong, false)                                                                               \
  COMPARE_EXCHANGE(BITS, weak, true)                                                                                  \
  COMPARE_EXCHANGE_VAL(BITS)
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

}  // extern "C"

namespace cuda_emu {

void trace_atomic(const void* memory, std::size_t size, const void* return_address) {
  trace::see_write(memory, size, return_address);
  if (BlockTrace::active != nullptr) BlockTrace::active->access(memory, size, Op::atomic, return_address);
}

void trace_atomic_load(const void* memory, std::size_t size, const void* return_address) {
  if (BlockTrace::active != nullptr) BlockTrace::active->access(memory, size, Op::atomic, return_address);
}

void trace_async_copy(void* to, const void* from, std::size_t size, std::size_t zeros, const void* return_address) {
  trace::see_write(to, size, return_address);
  if (BlockTrace::active == nullptr) return;
  if (size > zeros) BlockTrace::active->access(from, size - zeros, Op::load, return_address, true);
  BlockTrace::active->access(to, size, Op::store, return_address, true);
}

void trace_load(const void* memory, std::size_t size, const void* return_address) {
  if (BlockTrace::active != nullptr) BlockTrace::active->access(memory, size, Op::load, return_address);
}

void trace_store(const void* memory, std::size_t size, const void* return_address) {
  trace::see_write(memory, size, return_address);
  if (BlockTrace::active != nullptr) BlockTrace::active->access(memory, size, Op::store, return_address);
}

void trace_fence() {
  if (BlockTrace::active != nullptr) BlockTrace::active->fence();
}

}  // namespace cuda_emu
