// The part of the CUDA runtime API that kernels and their tests need, for the CPU backend. All calls are synchronous:
// streams order nothing, and events measure wall-clock time.
#pragma once

#define CUDART_VERSION 12040
#define CUDA_VERSION CUDART_VERSION
#define CUDART_CB

// The macros by which code detects the compiler and its headers. One pass compiles host and device code. The macros are
// those of nvcc's device pass, for the device that cudaGetDeviceProperties describes.
#ifndef __CUDACC__
#define __CUDACC__
#endif
#ifndef __NVCC__
#define __NVCC__
#endif
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDA_ARCH__ 900
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__
#define __VECTOR_TYPES_H__
#define __VECTOR_FUNCTIONS_H__

// As with nvcc, abs, isnan and other functions have all their overloads in the global namespace.
#include <math.h>
#include <stdlib.h>

#include <ctime>
#include <type_traits>
#include <utility>

#include "cuda_emu/atomics.hpp"
#include "cuda_emu/device.hpp"
#include "cuda_emu/launch.hpp"
#include "cuda_emu/math.hpp"
#include "cuda_emu/warp.hpp"

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidHostPointer = 16,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorMissingConfiguration = 52,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorInvalidPtx = 218,
  cudaErrorUnsupportedPtxVersion = 222,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalState = 401,
  cudaErrorSymbolNotFound = 500,
  cudaErrorNotReady = 600,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999,
};
typedef cudaError cudaError_t;

// Errors. After a kernel has failed, every call returns its error until cudaDeviceReset.
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

// Devices
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrTextureAlignment = 14,
  cudaDevAttrGpuOverlap = 15,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrKernelExecTimeout = 17,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrEccEnabled = 32,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrPageableMemoryAccess = 88,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrReservedSharedMemoryPerBlock = 111,
  cudaDevAttrMemoryPoolsSupported = 115,
};

enum cudaComputeMode {
  cudaComputeModeDefault = 0,
  cudaComputeModeExclusive = 1,
  cudaComputeModeProhibited = 2,
  cudaComputeModeExclusiveProcess = 3,
};

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  std::size_t totalConstMem;
  int major;
  int minor;
  int multiProcessorCount;
  int clockRate;        // kHz
  int memoryClockRate;  // kHz
  int kernelExecTimeoutEnabled;
  int integrated;
  int canMapHostMemory;
  int computeMode;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int deviceOverlap;
  int isMultiGpuBoard;
  int hostNativeAtomicSupported;
  int computePreemptionSupported;
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int directManagedMemAccessFromHost;
  int cooperativeMultiDeviceLaunch;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  int persistingL2CacheMaxSize;
  int accessPolicyMaxWindowSize;
  std::size_t memPitch;
  std::size_t textureAlignment;
  std::size_t texturePitchAlignment;
  std::size_t surfaceAlignment;
  int unifiedAddressing;
  int memoryBusWidth;
  int l2CacheSize;
  int maxThreadsPerMultiProcessor;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int cooperativeLaunch;
  std::size_t sharedMemPerBlockOptin;
  int maxBlocksPerMultiProcessor;
  std::size_t reservedSharedMemPerBlock;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties);
cudaError_t cudaDeviceCanAccessPeer(int* possible, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

constexpr unsigned cudaDeviceScheduleAuto = 0;
constexpr unsigned cudaDeviceScheduleSpin = 1;
constexpr unsigned cudaDeviceScheduleYield = 2;
constexpr unsigned cudaDeviceScheduleBlockingSync = 4;
constexpr unsigned cudaDeviceBlockingSync = cudaDeviceScheduleBlockingSync;
constexpr unsigned cudaDeviceMapHost = 8;

enum cudaFuncCache {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault = 0,
  cudaSharedMemBankSizeFourByte = 1,
  cudaSharedMemBankSizeEightByte = 2,
};
enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
};
// Hints that change nothing here.
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
template <class Function>
inline cudaError_t cudaFuncSetCacheConfig(Function*, cudaFuncCache) {
  return cudaSuccess;
}

// Memory. cudaMalloc fills memory as CUDA_EMU_FILL says; by default with 0xff bytes (NaN, or -1).
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

constexpr unsigned cudaHostAllocDefault = 0;
constexpr unsigned cudaHostAllocPortable = 1;
constexpr unsigned cudaHostAllocMapped = 2;
constexpr unsigned cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaHostRegisterDefault = 0;
constexpr unsigned cudaHostRegisterPortable = 1;
constexpr unsigned cudaHostRegisterMapped = 2;
constexpr unsigned cudaMemAttachGlobal = 1;
constexpr unsigned cudaMemAttachHost = 2;
constexpr unsigned cudaMemAttachSingle = 4;
constexpr int cudaCpuDeviceId = -1;
constexpr int cudaInvalidDeviceId = -2;

enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly = 2,
  cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4,
  cudaMemAdviseSetAccessedBy = 5,
  cudaMemAdviseUnsetAccessedBy = 6,
};

enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

// A volume in pitched memory. A slice has ysize rows.
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};
struct cudaExtent {
  std::size_t width, height, depth;  // bytes, rows, slices
};
struct cudaPos {
  std::size_t x, y, z;
};
// CUDA's struct has fields for arrays, too, which are not supported here.
struct cudaMemcpy3DParms {
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, std::size_t pitch, std::size_t xsize, std::size_t ysize) {
  return {pointer, pitch, xsize, ysize};
}
inline cudaExtent make_cudaExtent(std::size_t width, std::size_t height, std::size_t depth) {
  return {width, height, depth};
}
inline cudaPos make_cudaPos(std::size_t x, std::size_t y, std::size_t z) { return {x, y, z}; }

cudaError_t cudaMalloc(void** pointer, std::size_t size);
cudaError_t cudaFree(void* pointer);
// Host code may use managed memory while no kernel runs. Here a launch returns after its kernel has ended.
cudaError_t cudaMallocManaged(void** pointer, std::size_t size, unsigned flags = cudaMemAttachGlobal);
// Allocates rows of `width` bytes, *pitch bytes apart. *pitch is a multiple of 512.
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr* volume, cudaExtent extent);
cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMallocHost(void** pointer, std::size_t size, unsigned flags = cudaHostAllocDefault);
cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaFreeHost(void* pointer);
// Makes host memory accessible to kernels. Its device pointer is the same.
cudaError_t cudaHostRegister(void* pointer, std::size_t size, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height);
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream = nullptr);
// Hints that change nothing here.
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t size, int device, cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* pointer, std::size_t size, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemset(void* pointer, int value, std::size_t size);
cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t size, cudaStream_t stream = nullptr);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

template <class T>
inline cudaError_t cudaMalloc(T** pointer, std::size_t size) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), size);
}

template <class T>
inline cudaError_t cudaMallocManaged(T** pointer, std::size_t size, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged(reinterpret_cast<void**>(pointer), size, flags);
}

template <class T>
inline cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return cudaMallocPitch(reinterpret_cast<void**>(pointer), pitch, width, height);
}

template <class T>
inline cudaError_t cudaMallocAsync(T** pointer, std::size_t size, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), size, stream);
}

enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14,
};
typedef cudaDataType_t cudaDataType;

template <class T>
inline cudaError_t cudaMallocHost(T** pointer, std::size_t size, unsigned flags = cudaHostAllocDefault) {
  return cudaMallocHost(reinterpret_cast<void**>(pointer), size, flags);
}

template <class T>
inline cudaError_t cudaHostAlloc(T** pointer, std::size_t size, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), size, flags);
}

template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
}

namespace cuda_emu {

template <class T>
inline void* symbol_address(const T& symbol) {
  return const_cast<void*>(static_cast<const volatile void*>(&symbol));
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_size, const void* from, std::size_t size,
                           std::size_t offset, cudaMemcpyKind kind);
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_size, std::size_t size,
                             std::size_t offset, cudaMemcpyKind kind);

}  // namespace cuda_emu

// Symbols are ordinary variables here: `__device__ int counter` or `__constant__ float weights[9]`.
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t size, std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cuda_emu::copy_to_symbol(cuda_emu::symbol_address(symbol), sizeof(T), from, size, offset, kind);
}

template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t size, std::size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cuda_emu::copy_from_symbol(to, cuda_emu::symbol_address(symbol), sizeof(T), size, offset, kind);
}

template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t size, std::size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, size, offset, kind);
}

template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t size, std::size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, size, offset, kind);
}

template <class T>
inline cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = cuda_emu::symbol_address(symbol);
  return cudaSuccess;
}

template <class Pointer, class T>
inline cudaError_t cudaGetSymbolAddress(Pointer** address, const T& symbol) {
  return cudaGetSymbolAddress(reinterpret_cast<void**>(address), symbol);
}

template <class T>
inline cudaError_t cudaGetSymbolSize(std::size_t* size, const T&) {
  *size = sizeof(T);
  return cudaSuccess;
}

// Streams and events
struct CUevent_st;
typedef CUevent_st* cudaEvent_t;

constexpr unsigned cudaStreamDefault = 0;
constexpr unsigned cudaStreamNonBlocking = 1;
// Predefined streams. Like all streams, they order nothing here.
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(0x1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(0x2))
constexpr unsigned cudaEventDefault = 0;
constexpr unsigned cudaEventBlockingSync = 1;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaEventInterprocess = 4;

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void* user_data);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data, unsigned flags);
typedef void (*cudaHostFn_t)(void* user_data);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// Kernels as values
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};

struct cudaFuncAttributes {
  std::size_t sharedSizeBytes;
  std::size_t constSizeBytes;
  std::size_t localSizeBytes;
  int maxThreadsPerBlock;
  int numRegs;
  int ptxVersion;
  int binaryVersion;
  int cacheModeCA;
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
};

namespace cuda_emu {

cudaError_t set_function_attribute(cudaFuncAttribute attribute, int value);
cudaError_t get_function_attributes(cudaFuncAttributes* attributes);
cudaError_t max_active_blocks(int* blocks, int block_size, std::size_t dynamic_shared);
cudaError_t max_potential_block_size(int* grid_size, int* block_size, std::size_t dynamic_shared, int limit);

}  // namespace cuda_emu

// The limit set here applies to all kernels, because the emulator does not know which function a launch calls.
template <class Function>
inline cudaError_t cudaFuncSetAttribute(Function*, cudaFuncAttribute attribute, int value) {
  return cuda_emu::set_function_attribute(attribute, value);
}

template <class Function>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Function*) {
  return cuda_emu::get_function_attributes(attributes);
}

// Computes the occupancy from threads and dynamic shared memory only; registers and static shared memory are not known.
template <class Function>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function*, int block_size,
                                                                 std::size_t dynamic_shared) {
  return cuda_emu::max_active_blocks(blocks, block_size, dynamic_shared);
}

template <class Function>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, Function*,
                                                      std::size_t dynamic_shared = 0, int limit = 0) {
  return cuda_emu::max_potential_block_size(grid_size, block_size, dynamic_shared, limit);
}

// Launches by function call
enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
};

union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
};

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

namespace cuda_emu {

Config to_config(const cudaLaunchConfig_t& config, const Where& where);

// A launch configuration, and the position of the call.
struct ConfigHere {
  const cudaLaunchConfig_t* config;
  Where where;

  ConfigHere(const cudaLaunchConfig_t* c, CUDA_EMU_HERE) : config(c), where{"launch", file, line} {}
};

template <class... Parameters, std::size_t... I>
inline cudaError_t launch_with_pointers(void (*kernel)(Parameters...), const Config& config, void** arguments,
                                        std::index_sequence<I...>) {
  launch(config.kernel, kernel, config, *static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
  return cudaPeekAtLastError();
}

// Reading `arguments` requires the types of the kernel's parameters, which its address does not give. They are recorded
// when the address is taken: `(void*)kernel` becomes kernel_address(kernel).
using LaunchByAddress = cudaError_t (*)(const void* kernel, const Config& config, void** arguments);
void remember_kernel(const void* kernel, LaunchByAddress launch);
cudaError_t launch_by_address(const void* kernel, const Config& config, void** arguments);

template <class... Parameters>
inline void* kernel_address(void (*kernel)(Parameters...)) {
  const auto address = reinterpret_cast<void*>(kernel);
  remember_kernel(address, [](const void* of, const Config& config, void** arguments) {
    const auto typed = reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(of));
    return launch_with_pointers(typed, config, arguments, std::index_sequence_for<Parameters...>{});
  });
  return address;
}

// The argument may be an address that was taken before.
inline void* kernel_address(const void* address) { return const_cast<void*>(address); }

}  // namespace cuda_emu

template <class Kernel>
inline cudaError_t cudaLaunchKernel(Kernel* kernel, dim3 grid, dim3 block, void** args, std::size_t dynamic_shared = 0,
                                    cudaStream_t stream = nullptr, CUDA_EMU_HERE) {
  auto config = cuda_emu::config(grid, block, dynamic_shared, stream, file, line);
  config.kernel = "(cudaLaunchKernel)";
  return cuda_emu::launch_by_address(cuda_emu::kernel_address(kernel), config, args);
}

template <class Kernel>
inline cudaError_t cudaLaunchCooperativeKernel(Kernel* kernel, dim3 grid, dim3 block, void** args,
                                               std::size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
                                               CUDA_EMU_HERE) {
  auto config = cuda_emu::config(grid, block, dynamic_shared, stream, file, line);
  config.kernel = "(cudaLaunchCooperativeKernel)";
  config.cooperative = true;
  return cuda_emu::launch_by_address(cuda_emu::kernel_address(kernel), config, args);
}

template <class... Parameters, class... Arguments>
inline cudaError_t cudaLaunchKernelEx(cuda_emu::ConfigHere config, void (*kernel)(Parameters...),
                                      Arguments&&... arguments) {
  cuda_emu::launch("(cudaLaunchKernelEx)", kernel, cuda_emu::to_config(*config.config, config.where),
                   static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  return cudaPeekAtLastError();
}
