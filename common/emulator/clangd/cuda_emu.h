// Lets clangd read .cu files as CUDA with the emulator's headers in place of the toolkit's: .clangd puts this file
// before each of them. No compiler ever sees it.
#pragma once

// clang's own <new> declares operator new for the device, and needs the keyword for it.
#define __device__ __attribute__((device))
#include <new>
#undef __device__

// From here on a function without a keyword, the C++ library's and the emulator's too, may be called from kernels.
#pragma clang force_cuda_host_device begin
#include <cuda_runtime.h>

#undef __global__
#define __global__ __attribute__((global))
#define __shared__

// What clang turns kernel<<<...>>>(...) into, with and without a toolkit to be found on the machine.
extern "C" int __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                                           cudaStream_t stream = nullptr);
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = nullptr);
