// Atomic operations and memory fences. Blocks run on several OS threads, so these are real atomics.
#pragma once

#include <type_traits>

#include "device.hpp"

namespace cuda_emu {

#ifdef CUDA_EMU_TRACE
void trace_atomic(const void* memory, std::size_t size, const void* return_address);
void trace_atomic_load(const void* memory, std::size_t size, const void* return_address);
void trace_fence();
#define CUDA_EMU_TRACE_ATOMIC(address) cuda_emu::trace_atomic(address, sizeof *(address), __builtin_return_address(0))
#define CUDA_EMU_TRACE_ATOMIC_LOAD(address) \
  cuda_emu::trace_atomic_load(address, sizeof *(address), __builtin_return_address(0))
#define CUDA_EMU_TRACE_FENCE() cuda_emu::trace_fence()
#else
#define CUDA_EMU_TRACE_ATOMIC(address) static_cast<void>(0)
#define CUDA_EMU_TRACE_ATOMIC_LOAD(address) static_cast<void>(0)
#define CUDA_EMU_TRACE_FENCE() static_cast<void>(0)
#endif

// The type of a value argument. It is not deduced from the value, so atomicAdd(&unsigned_counter, 1) compiles.
template <class T>
using ValueOf = std::common_type_t<T>;

template <class T, class... Allowed>
constexpr bool is_one_of = (std::is_same<T, Allowed>::value || ...);

// The types of CUDA's overloads. Without this check a size_t counter would compile here, but not with nvcc.
#define CUDA_EMU_ATOMIC_TYPES(...) \
  static_assert(cuda_emu::is_one_of<T, __VA_ARGS__>, "CUDA has no such atomic operation for this type")

// Returns the address of a T as a pointer to an integer of the same size, for the CPU's atomic operations.
template <class T>
inline auto* atomic_bits(T* address) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  static_assert(sizeof(T) == sizeof(Bits), "atomics have 1, 2, 4 or 8 bytes");
  struct __attribute__((may_alias)) Cell {
    Bits bits;
  };
  return &reinterpret_cast<Cell*>(address)->bits;
}

template <class T>
inline T atomic_load(T* address) {
  const auto bits = __atomic_load_n(atomic_bits(address), __ATOMIC_ACQUIRE);
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Atomically replaces *address by update(*address). Returns the old value.
template <class T, class Update>
inline T atomic_update(T* address, Update update) {
  auto* bits = atomic_bits(address);
  auto old_bits = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T old_value;
    std::memcpy(&old_value, &old_bits, sizeof old_value);
    const T new_value = update(old_value);
    auto new_bits = old_bits;
    std::memcpy(&new_bits, &new_value, sizeof new_bits);
    if (__atomic_compare_exchange_n(bits, &old_bits, new_bits, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      return old_value;
    }
  }
}

}  // namespace cuda_emu

template <class T>
CUDA_EMU_TRACED T atomicAdd(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, unsigned long long, float, double);
  if constexpr (std::is_integral<T>::value) {
    if (value == 0) cuda_emu::yield(address);  // an atomic read, perhaps of a flag in a loop
  }
  CUDA_EMU_TRACE_ATOMIC(address);  // after the yield, in which others may write the value read here
  if constexpr (std::is_integral<T>::value) {
    return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
  } else {
    return cuda_emu::atomic_update(address, [=](T old) { return old + value; });
  }
}

template <class T>
CUDA_EMU_TRACED T atomicSub(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned);
  CUDA_EMU_TRACE_ATOMIC(address);
  return __atomic_fetch_sub(address, value, __ATOMIC_ACQ_REL);
}

template <class T>
CUDA_EMU_TRACED T atomicMin(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, long long, unsigned long long);
  CUDA_EMU_TRACE_ATOMIC(address);
  return cuda_emu::atomic_update(address, [=](T old) { return value < old ? value : old; });
}

template <class T>
CUDA_EMU_TRACED T atomicMax(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, long long, unsigned long long);
  CUDA_EMU_TRACE_ATOMIC(address);
  return cuda_emu::atomic_update(address, [=](T old) { return old < value ? value : old; });
}

template <class T>
CUDA_EMU_TRACED T atomicExch(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, unsigned long long, float);
  CUDA_EMU_TRACE_ATOMIC(address);
  const T old = cuda_emu::atomic_update(address, [=](T) { return value; });
  if (std::memcmp(&old, &value, sizeof old) == 0) cuda_emu::yield(address);  // perhaps a lock that is taken
  return old;
}

template <class T>
CUDA_EMU_TRACED T atomicAnd(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, unsigned long long);
  CUDA_EMU_TRACE_ATOMIC(address);
  return __atomic_fetch_and(address, value, __ATOMIC_ACQ_REL);
}

template <class T>
CUDA_EMU_TRACED T atomicOr(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, unsigned long long);
  if (value == 0) cuda_emu::yield(address);  // an atomic read
  CUDA_EMU_TRACE_ATOMIC(address);
  return __atomic_fetch_or(address, value, __ATOMIC_ACQ_REL);
}

template <class T>
CUDA_EMU_TRACED T atomicXor(T* address, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, unsigned long long);
  CUDA_EMU_TRACE_ATOMIC(address);
  return __atomic_fetch_xor(address, value, __ATOMIC_ACQ_REL);
}

// Increments up to `limit`, then wraps to 0. Returns the old value.
template <class T>
CUDA_EMU_TRACED T atomicInc(T* address, cuda_emu::ValueOf<T> limit) {
  CUDA_EMU_ATOMIC_TYPES(unsigned);
  CUDA_EMU_TRACE_ATOMIC(address);
  return cuda_emu::atomic_update(address, [=](T old) { return old >= limit ? 0 : old + 1; });
}

// Decrements down to 0, then wraps to `limit`. Returns the old value.
template <class T>
CUDA_EMU_TRACED T atomicDec(T* address, cuda_emu::ValueOf<T> limit) {
  CUDA_EMU_ATOMIC_TYPES(unsigned);
  CUDA_EMU_TRACE_ATOMIC(address);
  return cuda_emu::atomic_update(address, [=](T old) { return old == 0 || old > limit ? limit : old - 1; });
}

template <class T>
CUDA_EMU_TRACED T atomicCAS(T* address, cuda_emu::ValueOf<T> expected, cuda_emu::ValueOf<T> value) {
  CUDA_EMU_ATOMIC_TYPES(int, unsigned, unsigned long long, unsigned short);
  CUDA_EMU_TRACE_ATOMIC(address);
  T found = expected;
  if (!__atomic_compare_exchange_n(address, &found, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    cuda_emu::yield(address);  // perhaps a lock that is taken
  }
  return found;
}

#define CUDA_EMU_SCOPED_ATOMIC(NAME)                                        \
  template <class T>                                                        \
  CUDA_EMU_INLINE T NAME##_block(T* address, cuda_emu::ValueOf<T> value) {  \
    return NAME(address, value);                                            \
  }                                                                         \
  template <class T>                                                        \
  CUDA_EMU_INLINE T NAME##_system(T* address, cuda_emu::ValueOf<T> value) { \
    return NAME(address, value);                                            \
  }
CUDA_EMU_SCOPED_ATOMIC(atomicAdd)
CUDA_EMU_SCOPED_ATOMIC(atomicSub)
CUDA_EMU_SCOPED_ATOMIC(atomicMin)
CUDA_EMU_SCOPED_ATOMIC(atomicMax)
CUDA_EMU_SCOPED_ATOMIC(atomicExch)
CUDA_EMU_SCOPED_ATOMIC(atomicAnd)
CUDA_EMU_SCOPED_ATOMIC(atomicOr)
CUDA_EMU_SCOPED_ATOMIC(atomicXor)
CUDA_EMU_SCOPED_ATOMIC(atomicInc)
CUDA_EMU_SCOPED_ATOMIC(atomicDec)
#undef CUDA_EMU_SCOPED_ATOMIC
#undef CUDA_EMU_ATOMIC_TYPES

template <class T>
CUDA_EMU_INLINE T atomicCAS_block(T* address, cuda_emu::ValueOf<T> expected, cuda_emu::ValueOf<T> value) {
  return atomicCAS(address, expected, value);
}

template <class T>
CUDA_EMU_INLINE T atomicCAS_system(T* address, cuda_emu::ValueOf<T> expected, cuda_emu::ValueOf<T> value) {
  return atomicCAS(address, expected, value);
}

inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  CUDA_EMU_TRACE_FENCE();
}
inline void __threadfence_system() { __threadfence(); }

// A block runs on one OS thread, so only the compiler must keep the order.
inline void __threadfence_block() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  CUDA_EMU_TRACE_FENCE();
}
