// What every kernel uses: CUDA's keywords, the thread's indices, block barriers and shared memory.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <typeinfo>

#include "vector_types.hpp"

#ifndef CUDA_EMU
#define CUDA_EMU 1
#endif

// Not inlined into the launch: that keeps the kernel in backtraces, and g++ does better with loops on their own.
#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#ifdef CUDA_EMU_TRACE
#define __constant__ __attribute__((section("cuda_emu_constant")))
#else
#define __constant__
#endif
#define __forceinline__ inline  // always_inline fails where a function is called through a pointer
#define CUDA_EMU_INLINE inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __managed__

#if !defined(__clang__) && !defined(__builtin_assume)
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#endif

// A traced build compiles kernels so that each access calls the trace. These functions say themselves what they do, as
// the line that calls them.
#ifndef CUDA_EMU_TRACE
#define CUDA_EMU_TRACED inline
#elif defined(__clang__)
#define CUDA_EMU_TRACED __attribute__((noinline, no_sanitize("thread", "coverage"))) inline
#else
#define CUDA_EMU_TRACED __attribute__((noinline, no_sanitize("thread"), no_sanitize_coverage)) inline
#endif

// Set each time a CUDA thread is resumed. Plain variables, so that a debugger can print them; not const, since the
// compiler would then keep one thread's value for the next.
inline thread_local uint3 threadIdx __attribute__((visibility("default"))){};
inline thread_local uint3 blockIdx __attribute__((visibility("default"))){};
inline thread_local dim3 blockDim __attribute__((visibility("default"))){};
inline thread_local dim3 gridDim __attribute__((visibility("default"))){};
constexpr int warpSize = 32;

// Default arguments that name the caller's position, for error reports.
#define CUDA_EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace cuda_emu {

// A synchronising operation in the program: its name and position.
struct Where {
  const char* what;
  const char* file;
  int line;
};

// What a block barrier computes from the threads' predicates.
enum class BarrierVote : unsigned char { none, count, all, any };

int block_barrier(BarrierVote vote, bool predicate, const Where& where);
void grid_barrier(const Where& where);
bool is_cooperative_launch();

// Lets the other threads of the block run; called where a thread may be spinning, perhaps on this memory.
void yield(const void* polled = nullptr);

// Ends the launch with cudaErrorLaunchFailure.
[[noreturn]] void trap(const Where& where);

unsigned lane_id();
unsigned thread_rank_in_block();

// The type of a __shared__ variable: its elements, and the extents of an array, 0 behind the last.
struct SharedType {
  std::size_t size;
  std::size_t element_size;
  const std::type_info* element;
  std::array<std::size_t, 5> extents;
};
template <class T>
inline constexpr SharedType kSharedType{sizeof(T),
                                        sizeof(std::remove_all_extents_t<T>),
                                        &typeid(std::remove_all_extents_t<T>),
                                        {std::extent<T, 0>::value, std::extent<T, 1>::value, std::extent<T, 2>::value,
                                         std::extent<T, 3>::value, std::extent<T, 4>::value}};

// A program's __shared__ variables are numbered; a block's copy of one is made, filled with NaN, at its first use.
unsigned register_shared(const char* name, const SharedType& type, std::size_t alignment);
void* shared_memory(unsigned variable);
void* dynamic_shared_memory(const char* name, const SharedType& type);  // the first extent is not known

// `__shared__ T x` becomes `auto& x = shared<T>("x", [] {})`: the lambda's type tells one declaration from another, also
// between instances of a template.
template <class T, std::size_t Alignment = alignof(T), class Tag>
CUDA_EMU_TRACED T& shared(const char* name, Tag) {
  static const unsigned variable = register_shared(name, kSharedType<T>, Alignment);
  return *static_cast<T*>(shared_memory(variable));
}

// `extern __shared__ T x[]` becomes `auto x = dynamic_shared<T>("x")`.
template <class T, std::size_t Alignment = alignof(T)>
CUDA_EMU_TRACED T* dynamic_shared(const char* name) {
  static_assert(Alignment <= 1024, "dynamic shared memory is aligned to 1024 bytes");
  void* memory = dynamic_shared_memory(name, kSharedType<T[1]>);
  return static_cast<T*>(const_cast<void*>(static_cast<const volatile void*>(memory)));
}

// `extern __shared__ T x[]` outside a function becomes `DynamicShared<T> x{"x"}`, which stands for the memory wherever
// it is used.
template <class T>
struct DynamicShared {
  const char* name;
  template <class Pointer, class = std::enable_if_t<std::is_pointer<Pointer>::value>>
  operator Pointer() const {
    return (Pointer)dynamic_shared<T>(name);  // with a cast in the program perhaps to another type
  }
  T& operator[](std::size_t i) const { return dynamic_shared<T>(name)[i]; }
  T& operator*() const { return *dynamic_shared<T>(name); }
  T* operator+(std::ptrdiff_t i) const { return dynamic_shared<T>(name) + i; }
};

// What a kernel with __launch_bounds__(max, min_blocks_per_sm, max_blocks_per_cluster) calls first.
void launch_bounds(unsigned max, unsigned = 0, unsigned = 0);

// What a kernel calls first whose parameter is a reference: the argument is a variable of the host, and so would be what
// a GPU reads. The launch fails.
void reference_parameter(const char* name, CUDA_EMU_HERE);

}  // namespace cuda_emu

inline void __syncthreads(CUDA_EMU_HERE) {
  cuda_emu::block_barrier(cuda_emu::BarrierVote::none, false, {"__syncthreads", file, line});
}

inline int __syncthreads_count(int predicate, CUDA_EMU_HERE) {
  return cuda_emu::block_barrier(cuda_emu::BarrierVote::count, predicate != 0, {"__syncthreads_count", file, line});
}

inline int __syncthreads_and(int predicate, CUDA_EMU_HERE) {
  return cuda_emu::block_barrier(cuda_emu::BarrierVote::all, predicate != 0, {"__syncthreads_and", file, line});
}

inline int __syncthreads_or(int predicate, CUDA_EMU_HERE) {
  return cuda_emu::block_barrier(cuda_emu::BarrierVote::any, predicate != 0, {"__syncthreads_or", file, line});
}

inline void __nanosleep(unsigned) { cuda_emu::yield(); }

[[noreturn]] inline void __trap(CUDA_EMU_HERE) { cuda_emu::trap({"__trap", file, line}); }

// Rises, and means nothing else: the emulator has no clock that would tell a kernel's cost. clock() is the C library's.
inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}
