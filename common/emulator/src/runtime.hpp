// Parts of the runtime that launches and memory functions share.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "cuda_runtime.h"

namespace cuda_emu {

// Held by launches, copies and allocations, which the device executes one at a time.
std::mutex& device_mutex();

// Returns the error of an earlier failed launch, if any, else `error`, which is then kept for cudaGetLastError.
cudaError_t record(cudaError_t error);

// Records the error of a failed launch. Every call returns it from now on, until cudaDeviceReset.
void record_launch_failure(cudaError_t error);
cudaError_t launch_failure();

// Returns the most dynamic shared memory that a launch may request. cudaFuncSetAttribute raises it.
std::size_t dynamic_shared_limit();

// Makes the program end with exit status 1 if no call returns the recorded error of a launch.
void leave_unseen();

// Saves the content of the device's variables, for image_written_by_host().
void save_images();

// Returns the name of a variable that host code has written since save_images(), or null. The caller holds
// device_mutex().
const char* image_written_by_host();

// Returns true if a fault at this address was a write to watched memory. The write is then recorded, and the memory is
// writable. Called by the signal handler, during launches.
bool is_watched_write(void* address);

// Describes a write to a guard round an allocation; empty if there was none, and always in the ASan build, which
// reports such a write itself. Called after a launch; the caller holds device_mutex().
std::string guard_problem();

// Returns the allocation (start, size) that owns the page of the address, for its data or a guard; null if there is
// none. The caller holds device_mutex().
std::pair<char*, std::size_t> allocation_beside(const void* address);

// Makes device memory accessible while the object lives, which is during a launch. Otherwise the ASan build reports
// accesses by host code; copies unlock only their operands. The caller holds device_mutex().
class DeviceMemoryAccess {
 public:
  DeviceMemoryAccess();
  ~DeviceMemoryAccess();
  DeviceMemoryAccess(const DeviceMemoryAccess&) = delete;
  DeviceMemoryAccess& operator=(const DeviceMemoryAccess&) = delete;
};

}  // namespace cuda_emu
