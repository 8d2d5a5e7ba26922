// Lets clangd read .cu files as CUDA with the emulator's headers in place of the toolkit's: .clangd puts this file
// before each of them, and this folder before the emulator's. Whatever our files use of the toolkit and the CPU backend
// lacks is declared in this folder, by the toolkit's names of headers. No compiler ever sees it.
#pragma once

// A function without a keyword, the C++ library's and the emulator's too, may be called from kernels; but for clang's own
// <new>, which declares operator new for the device besides, and needs the keyword for it.
#pragma clang force_cuda_host_device begin
#include <stdlib.h>

#include <bits/exception.h>
#pragma clang force_cuda_host_device end
#define __device__ __attribute__((device))
#include <new>
#undef __device__
#pragma clang force_cuda_host_device begin
#include <memory>  // it has a __noinline__ of its own

#include <cuda_runtime.h>

#undef __global__
#define __global__ __attribute__((global))
#define __shared__
#define __cluster_dims__(...)
#if __clang_major__ < 15
#define __noinline__ __attribute__((noinline))
#endif

// What clang turns kernel<<<...>>>(...) into, with and without a toolkit to be found on the machine.
extern "C" int __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                                           cudaStream_t stream = nullptr);
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = nullptr);
