// The target of a translated `kernel<<<grid, block, shared, stream>>>(arguments)`.
#pragma once

#include <type_traits>

#include "device.hpp"
#include "settings.hpp"

struct CUstream_st;
typedef CUstream_st* cudaStream_t;

namespace cuda_emu {

struct Config {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared;
  cudaStream_t stream;
  bool cooperative;
  const char* kernel;  // the source text of the kernel expression, for reports
  Where where;
};

inline Config config(dim3 grid, dim3 block, std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                     CUDA_EMU_HERE) {
  return {grid, block, dynamic_shared, stream, false, "?", {"launch", file, line}};
}

// Calls body(context) once for each thread of the grid and returns when all have returned. The context, `size` bytes,
// holds the kernel's arguments. It is the only host memory that the threads may read.
void run(const Config& config, void (*body)(const void* context), const void* context, std::size_t size);

// Registers a __device__ variable. On a GPU host code cannot write to it directly; here the launch after such a write
// fails.
struct DeviceImage {
  DeviceImage(const volatile void* variable, std::size_t size, const char* name);
};

// Returns true if kernels cannot use the address: it is not in device memory, pinned host memory or static storage.
// Always false for addresses below 1 MiB (null plus an offset), and in builds with AddressSanitizer.
bool is_host_pointer(const void* address);

// Reports that argument `number` is a host pointer, and fails the launch.
void refuse_host_pointer(const Config& config, unsigned number);

template <class T>
bool is_usable_argument(const T& argument) {
  if constexpr (std::is_pointer<T>::value && !std::is_function<std::remove_pointer_t<T>>::value) {
    return !is_host_pointer(const_cast<const void*>(static_cast<const volatile void*>(argument)));
  }
  return true;
}

template <class Body>
void call_body(const void* context) {
  (*static_cast<Body*>(context))();
}

template <class Kernel, class... Arguments>
void launch(const char* label, const Kernel& kernel, Config config, Arguments... arguments) {
  config.kernel = label;
  unsigned number = 0, refused = 0;
  ((++number, refused = refused == 0 && !is_usable_argument(arguments) ? number : refused), ...);
  if (refused != 0) return refuse_host_pointer(config, refused);
  const auto body = [=] { kernel(arguments...); };
  run(config, &call_body<decltype(body)>, &body, sizeof body);
}

}  // namespace cuda_emu
