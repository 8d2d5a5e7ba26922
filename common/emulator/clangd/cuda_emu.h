// Lets clangd parse .cu files as CUDA, with the emulator's headers in place of the toolkit's. .clangd includes this
// file before each of them, and searches this folder before the emulator's. The headers here have the toolkit's names;
// they declare the parts of the toolkit that our files use and the CPU backend lacks. They are never compiled.
#pragma once

// Allows kernels to call functions without a keyword, such as those of the C++ library and the emulator. clang's own
// <new> is excluded: it also declares operator new for the device, and needs the keyword for that.
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

// The functions to which clang translates kernel<<<...>>>(...), with and without a toolkit on the machine.
extern "C" int __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                                           cudaStream_t stream = nullptr);
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = nullptr);
