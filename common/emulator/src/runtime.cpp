// Errors, the device's properties, streams, events and occupancy.
#include "runtime.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "device_limits.hpp"
#include "settings.hpp"

struct CUevent_st {
  bool recorded = false;
  bool timing = true;
  std::chrono::steady_clock::time_point time;
};

struct CUstream_st {};

namespace cuda_emu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
std::atomic<cudaError_t> sticky_error{cudaSuccess};
std::atomic<bool> failure_seen{true};
std::atomic<std::size_t> dynamic_shared_allowed{kSharedPerBlock};

constexpr int kClockRate = 1'000'000;  // kHz; not 0, because programs divide by it

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define CUDA_EMU_ERROR(NAME, TEXT) \
  { NAME, #NAME, TEXT }
constexpr ErrorText kErrorTexts[] = {
    CUDA_EMU_ERROR(cudaSuccess, "no error"),
    CUDA_EMU_ERROR(cudaErrorInvalidValue, "invalid argument"),
    CUDA_EMU_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    CUDA_EMU_ERROR(cudaErrorInitializationError, "initialization error"),
    CUDA_EMU_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    CUDA_EMU_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    CUDA_EMU_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    CUDA_EMU_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    CUDA_EMU_ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    CUDA_EMU_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    CUDA_EMU_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    CUDA_EMU_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    CUDA_EMU_ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    CUDA_EMU_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    CUDA_EMU_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    CUDA_EMU_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    CUDA_EMU_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    CUDA_EMU_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    CUDA_EMU_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    CUDA_EMU_ERROR(cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain."),
    CUDA_EMU_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    CUDA_EMU_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    CUDA_EMU_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    CUDA_EMU_ERROR(cudaErrorNotReady, "device not ready"),
    CUDA_EMU_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    CUDA_EMU_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    CUDA_EMU_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    CUDA_EMU_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    CUDA_EMU_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    CUDA_EMU_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    CUDA_EMU_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    CUDA_EMU_ERROR(cudaErrorAssert, "device-side assert triggered"),
    CUDA_EMU_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    CUDA_EMU_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    CUDA_EMU_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    CUDA_EMU_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    CUDA_EMU_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    CUDA_EMU_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    CUDA_EMU_ERROR(cudaErrorNotSupported, "operation not supported"),
    CUDA_EMU_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef CUDA_EMU_ERROR

constexpr ErrorText kUnknownError = {cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};

const ErrorText& find_error(cudaError_t error) {
  for (const ErrorText& entry : kErrorTexts) {
    if (entry.error == error) return entry;
  }
  return kUnknownError;
}

template <class Handle, class... Arguments>
cudaError_t create(Handle** handle, Arguments... arguments) {
  if (handle == nullptr) return record(cudaErrorInvalidValue);
  *handle = new Handle{arguments...};
  return record(cudaSuccess);
}

}  // namespace

std::mutex& device_mutex() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

cudaError_t launch_failure() {
  failure_seen = true;
  return sticky_error;
}

cudaError_t record(cudaError_t error) {
  if (sticky_error != cudaSuccess) return launch_failure();
  if (error != cudaSuccess) last_error = error;
  return error;
}

void record_launch_failure(cudaError_t error) {
  sticky_error = error;
  leave_unseen();
}

void leave_unseen() {
  failure_seen = false;
#ifdef __GLIBC__
  static const int watched = on_exit(
      [](int status, void*) {
        if (failure_seen || status != 0) return;
        fflush(nullptr);
        fprintf(stderr,
                "cuda_emu: error: a launch failed and the program never asked: check cudaGetLastError() after the "
                "launch and what cudaDeviceSynchronize() returns\n");
        _exit(1);
      },
      nullptr);
  static_cast<void>(watched);
#endif
}

std::size_t dynamic_shared_limit() { return dynamic_shared_allowed; }

cudaError_t set_function_attribute(cudaFuncAttribute attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || static_cast<std::size_t>(value) > kSharedPerBlockOptin) return record(cudaErrorInvalidValue);
      if (static_cast<std::size_t>(value) > dynamic_shared_allowed) dynamic_shared_allowed = value;
      return record(cudaSuccess);
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      return record(value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue);
  }
  return record(cudaErrorInvalidValue);
}

cudaError_t get_function_attributes(cudaFuncAttributes* attributes) {
  *attributes = {};
  attributes->maxThreadsPerBlock = kMaxThreadsPerBlock;
  attributes->numRegs = kRegisters / kMaxThreadsPerMultiprocessor;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit());
  attributes->preferredShmemCarveout = -1;
  return record(cudaSuccess);
}

cudaError_t max_active_blocks(int* blocks, int block_size, std::size_t dynamic_shared) {
  if (blocks == nullptr || block_size <= 0) return record(cudaErrorInvalidValue);
  const bool possible = block_size <= static_cast<int>(kMaxThreadsPerBlock) && dynamic_shared <= kSharedPerBlockOptin;
  *blocks =
      possible ? static_cast<int>(blocks_per_multiprocessor(static_cast<unsigned>(block_size), dynamic_shared)) : 0;
  return record(cudaSuccess);
}

cudaError_t max_potential_block_size(int* grid_size, int* block_size, std::size_t dynamic_shared, int limit) {
  if (grid_size == nullptr || block_size == nullptr) return record(cudaErrorInvalidValue);
  int threads = static_cast<int>(kMaxThreadsPerBlock);
  if (limit > 0 && limit < threads) threads = limit;
  *block_size = threads;
  *grid_size = static_cast<int>(settings().multiprocessors *
                                blocks_per_multiprocessor(static_cast<unsigned>(threads), dynamic_shared));
  return record(cudaSuccess);
}

}  // namespace cuda_emu

using cuda_emu::record;

// ---- Errors ----

const char* cudaGetErrorName(cudaError_t error) { return cuda_emu::find_error(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return cuda_emu::find_error(error).text; }

cudaError_t cudaPeekAtLastError() {
  const cudaError_t sticky = cuda_emu::launch_failure();
  return sticky != cudaSuccess ? sticky : cuda_emu::last_error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  cuda_emu::last_error = cudaSuccess;
  return error;
}

// ---- Device ----

cudaError_t cudaDeviceSynchronize() { return record(cudaSuccess); }

cudaError_t cudaDeviceReset() {
  cuda_emu::sticky_error = cudaSuccess;
  cuda_emu::last_error = cudaSuccess;
  cuda_emu::dynamic_shared_allowed = cuda_emu::kSharedPerBlock;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return record(cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return record(cudaSuccess);
}

cudaError_t cudaSetDevice(int device) { return record(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
  *possible = 0;
  return record(cudaSuccess);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return record(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return record(cudaErrorPeerAccessNotEnabled); }
cudaError_t cudaSetDeviceFlags(unsigned) { return record(cudaSuccess); }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return record(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return record(cudaSuccess);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  using namespace cuda_emu;
  if (properties == nullptr) return record(cudaErrorInvalidValue);
  if (device != 0) return record(cudaErrorInvalidDevice);
  cudaDeviceProp p = {};
  snprintf(p.name, sizeof p.name, "CPU (cuda_emu)");
  std::size_t free_memory = 0;
  cudaMemGetInfo(&free_memory, &p.totalGlobalMem);
  p.sharedMemPerBlock = kSharedPerBlock;
  p.sharedMemPerBlockOptin = kSharedPerBlockOptin;
  p.sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  p.reservedSharedMemPerBlock = kSharedReservedPerBlock;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegisters;
  p.warpSize = kWarpSize;
  p.maxThreadsPerBlock = kMaxThreadsPerBlock;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = kMaxThreadsPerBlock;
  p.maxThreadsDim[2] = kMaxBlockDimZ;
  p.maxGridSize[0] = kMaxGridDimX;
  p.maxGridSize[1] = p.maxGridSize[2] = kMaxGridDimYZ;
  p.totalConstMem = kConstantMemory;
  p.major = 9;
  p.minor = 0;
  p.multiProcessorCount = static_cast<int>(settings().multiprocessors);
  p.maxThreadsPerMultiProcessor = kMaxThreadsPerMultiprocessor;
  p.maxBlocksPerMultiProcessor = kMaxBlocksPerMultiprocessor;
  p.integrated = p.unifiedAddressing = p.cooperativeLaunch = p.managedMemory = p.canMapHostMemory = 1;
  p.concurrentKernels = p.asyncEngineCount = p.deviceOverlap = 1;
  p.clockRate = p.memoryClockRate = kClockRate;
  p.memPitch = 0x7fffffff;
  p.textureAlignment = 512;
  p.memoryBusWidth = 64;
  p.l2CacheSize = kL2CacheSize;
  *properties = p;
  return record(cudaSuccess);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  using namespace cuda_emu;
  if (value == nullptr) return record(cudaErrorInvalidValue);
  if (device != 0) return record(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      *value = kMaxThreadsPerBlock;
      break;
    case cudaDevAttrMaxBlockDimZ:
      *value = kMaxBlockDimZ;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = kMaxGridDimX;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      *value = kMaxGridDimYZ;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedPerBlockOptin;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = kSharedPerMultiprocessor;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = kSharedReservedPerBlock;
      break;
    case cudaDevAttrTotalConstantMemory:
      *value = kConstantMemory;
      break;
    case cudaDevAttrWarpSize:
      *value = kWarpSize;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      *value = kRegisters;
      break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = kClockRate;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = static_cast<int>(settings().multiprocessors);
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 64;
      break;
    case cudaDevAttrL2CacheSize:
      *value = kL2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = kMaxThreadsPerMultiprocessor;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = kMaxBlocksPerMultiprocessor;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrIntegrated:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
    case cudaDevAttrComputeCapabilityMinor:
    case cudaDevAttrComputeMode:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 0;
      break;
    default:
      return record(cudaErrorInvalidValue);
  }
  return record(cudaSuccess);
}

// ---- Streams ----

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cuda_emu::create(stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cuda_emu::create(stream); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) { return cuda_emu::create(stream); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return record(cudaSuccess);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data, unsigned flags) {
  if (callback == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  callback(stream, cuda_emu::launch_failure(), user_data);
  return record(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return record(cudaErrorInvalidResourceHandle);
  delete stream;
  return record(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return record(cudaSuccess); }
cudaError_t cudaStreamQuery(cudaStream_t) { return record(cudaSuccess); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) {
  return record(event != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* user_data) {
  if (function == nullptr) return record(cudaErrorInvalidValue);
  function(user_data);
  return record(cudaSuccess);
}

// ---- Events ----

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cuda_emu::create(event); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const cudaError_t error = cuda_emu::create(event);
  if (error == cudaSuccess) (*event)->timing = (flags & cudaEventDisableTiming) == 0;
  return error;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  delete event;
  return record(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (event == nullptr) return record(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return record(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return record(event != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (milliseconds == nullptr) return record(cudaErrorInvalidValue);
  for (const cudaEvent_t event : {start, end}) {
    if (event == nullptr || !event->recorded || !event->timing) return record(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return record(cudaSuccess);
}
