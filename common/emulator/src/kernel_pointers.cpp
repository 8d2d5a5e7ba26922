// Launches by a kernel's address: cudaLaunchKernel((void*)kernel, ...).
#include <mutex>
#include <unordered_map>

#include "runtime.hpp"

namespace cuda_emu {
namespace {

std::mutex mutex;

std::unordered_map<const void*, LaunchByAddress>& launches() {
  static auto& instance = *new std::unordered_map<const void*, LaunchByAddress>;
  return instance;
}

}  // namespace

void remember_kernel(const void* kernel, LaunchByAddress launch) {
  std::lock_guard<std::mutex> lock(mutex);
  launches()[kernel] = launch;
}

cudaError_t launch_by_address(const void* kernel, const Config& config, void** arguments) {
  LaunchByAddress launch = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = launches().find(kernel);
    if (found != launches().end()) launch = found->second;
  }
  return launch ? launch(kernel, config, arguments) : record(cudaErrorInvalidDeviceFunction);
}

}  // namespace cuda_emu
