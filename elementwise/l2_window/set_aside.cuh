// Sets aside a part of L2 for persisting lines.
#pragma once
#include "cuda_helpers.cuh"

#include <algorithm>

// Sets aside `bytes` of L2 for persisting lines, at most what the device allows, and returns how many: 0 before sm_80
// and under MIG. No other data can use this part until a call sets aside less.
inline std::size_t set_aside(std::size_t bytes) {
  const std::size_t most = device_attribute(cudaDevAttrMaxPersistingL2CacheSize), part = std::min(bytes, most);
  static std::size_t now = 0;
  if (part != now) CUDA_CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, part));
  return now = part;
}
