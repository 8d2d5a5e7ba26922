// CUDA's keywords, built-in variables, block barriers and shared memory.
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

// Kernels are not inlined into the launch: so they appear in backtraces, and g++ optimizes their loops better.
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

// Marks functions that inform the trace themselves, with the line of their caller. In a traced build the compiler makes
// each access of other kernel code call the trace.
#ifndef CUDA_EMU_TRACE
#define CUDA_EMU_TRACED inline
#elif defined(__clang__)
#define CUDA_EMU_TRACED __attribute__((noinline, no_sanitize("thread", "coverage"))) inline
#else
#define CUDA_EMU_TRACED __attribute__((noinline, no_sanitize("thread"), no_sanitize_coverage)) inline
#endif

// Set each time a CUDA thread is resumed. They are plain variables, which a debugger can print. They are not const,
// because then the compiler would reuse one thread's value for the next.
inline thread_local uint3 threadIdx __attribute__((visibility("default"))){};
inline thread_local uint3 blockIdx __attribute__((visibility("default"))){};
inline thread_local dim3 blockDim __attribute__((visibility("default"))){};
inline thread_local dim3 gridDim __attribute__((visibility("default"))){};
constexpr int warpSize = 32;

// Default arguments with the position of the caller, for error reports.
#define CUDA_EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace cuda_emu {

// The name and position of a synchronizing operation in the program.
struct Where {
  const char* what;
  const char* file;
  int line;
};

// The value that a block barrier computes from the threads' predicates.
enum class BarrierVote : unsigned char { none, count, all, any };

int block_barrier(BarrierVote vote, bool predicate, const Where& where);
void grid_barrier(const Where& where);
bool is_cooperative_launch();

// Lets the other threads of the block run. Called where a thread may be spinning, perhaps on the memory at `polled`.
void yield(const void* polled = nullptr);

// Ends the launch with cudaErrorLaunchFailure.
[[noreturn]] void trap(const Where& where);

unsigned lane_id();
unsigned thread_rank_in_block();

// The type of a __shared__ variable: its elements, and an array's extents, with zeros after the last one.
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

// register_shared() numbers the program's __shared__ variables. shared_memory() returns the block's copy of one, which
// is created and filled (CUDA_EMU_FILL) at its first use.
unsigned register_shared(const char* name, const SharedType& type, std::size_t alignment);
void* shared_memory(unsigned variable);
void* dynamic_shared_memory(const char* name, const SharedType& type);  // the first extent is unknown

// `__shared__ T x` becomes `auto& x = shared<T>("x", [] {})`. The lambda's type is different for each declaration, and
// for each instance of a template.
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

// `extern __shared__ T x[]` outside a function becomes `DynamicShared<T> x{"x"}`, which converts to a pointer to the
// block's memory wherever it is used.
template <class T>
struct DynamicShared {
  const char* name;
  template <class Pointer, class = std::enable_if_t<std::is_pointer<Pointer>::value>>
  operator Pointer() const {
    return (Pointer)dynamic_shared<T>(name);  // another type than T* if the program casts x
  }
  T& operator[](std::size_t i) const { return dynamic_shared<T>(name)[i]; }
  T& operator*() const { return *dynamic_shared<T>(name); }
  T* operator+(std::ptrdiff_t i) const { return dynamic_shared<T>(name) + i; }
};

// First call of a kernel with __launch_bounds__(max, min_blocks_per_sm, max_blocks_per_cluster). Fails the launch if
// the block has more than `max` threads.
void launch_bounds(unsigned max, unsigned = 0, unsigned = 0);

// First call of a kernel that has a reference parameter. Fails the launch, because the argument is a variable in host
// memory, which a GPU cannot read.
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

// Increases, but does not measure a kernel's cost: the emulator has no clock for that. clock() is the C library's.
inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}
