// The part of L2 that is set aside for lines that persist.
#pragma once
#include "cuda_helpers.cuh"

#include <algorithm>

// Sets aside `bytes` of L2 for lines that persist, at most what the device allows; returns how many. 0: before sm_80, or
// under MIG. A part set aside is taken from all others, until it is given back.
inline std::size_t set_aside(std::size_t bytes) {
  const std::size_t most = device_attribute(cudaDevAttrMaxPersistingL2CacheSize), part = std::min(bytes, most);
  static std::size_t now = 0;
  if (part != now) CUDA_CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, part));
  return now = part;
}
