// Parts of the runtime that launches and memory functions share.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "cuda_runtime.h"

namespace cuda_emu {

// Held by launches, copies and allocations: the device does one thing at a time.
std::mutex& device_mutex();

// Returns the error that a failed launch left, or else the given one, and keeps it for cudaGetLastError.
cudaError_t record(cudaError_t error);

// A launch has failed: from now on everything returns this error, until cudaDeviceReset.
void record_launch_failure(cudaError_t error);
cudaError_t launch_failure();

// The most dynamic shared memory that a launch may ask for; cudaFuncSetAttribute raises it.
std::size_t dynamic_shared_limit();

// The error of a launch is on record; if no call ever returns it, the program will end with exit status 1.
void leave_unseen();

// The variables of the device are right as they are now.
void save_images();

// The name of one that host code has written since then; null if there is none. The caller holds device_mutex().
const char* image_written_by_host();

// For the handler of a fault at this address: was it a write to memory that is watched? Then the memory is writable now
// and the write is on record. Called during launches.
bool is_watched_write(void* address);

// After a launch: was device memory written just outside an allocation? Empty if not; always so in the ASan build, which
// reports such a write itself. The caller holds device_mutex().
std::string guard_problem();

// The allocation of device memory that has the address's page, for itself or for a guard, and its size; null if there is
// none. The caller holds device_mutex().
std::pair<char*, std::size_t> allocation_beside(const void* address);

// In the ASan build, host code that touches device memory is an error: device memory is accessible only during
// launches, and, one allocation at a time, during copies. The caller holds device_mutex().
class DeviceMemoryAccess {
 public:
  DeviceMemoryAccess();
  ~DeviceMemoryAccess();
  DeviceMemoryAccess(const DeviceMemoryAccess&) = delete;
  DeviceMemoryAccess& operator=(const DeviceMemoryAccess&) = delete;
};

}  // namespace cuda_emu
