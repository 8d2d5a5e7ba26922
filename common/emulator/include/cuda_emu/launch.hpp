// Where a translated `kernel<<<grid, block, shared, stream>>>(arguments)` lands.
#pragma once

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
  const char* kernel;  // its text in the program, for reports
  Where where;
};

inline Config config(dim3 grid, dim3 block, std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                     CUDA_EMU_HERE) {
  return {grid, block, dynamic_shared, stream, false, "?", {"launch", file, line}};
}

// Calls body(context) once for each thread of the grid and returns when all have returned.
void run(const Config& config, void (*body)(const void* context), const void* context);

template <class Body>
void call_body(const void* context) {
  (*static_cast<Body*>(context))();
}

template <class Kernel, class... Arguments>
void launch(const char* label, const Kernel& kernel, Config config, Arguments... arguments) {
  config.kernel = label;
  const auto body = [&] { kernel(arguments...); };
  run(config, &call_body<decltype(body)>, &body);
}

}  // namespace cuda_emu
