#pragma once

#include <cuda_runtime.h>

#define CUB_VERSION 300000

namespace cub {

#define FUNCTION(name)       \
  template <class... Others> \
  static cudaError_t name(void* storage, std::size_t& storage_bytes, Others... others)

struct DeviceReduce {
  FUNCTION(Sum);
  FUNCTION(Max);
  FUNCTION(ArgMax);
};
struct DeviceSegmentedReduce {
  FUNCTION(Sum);
};
struct DeviceScan {
  FUNCTION(ExclusiveSum);
  FUNCTION(InclusiveSum);
};
struct DeviceRadixSort {
  FUNCTION(SortPairs);
};
struct DeviceSelect {
  FUNCTION(If);
};
struct DeviceHistogram {
  FUNCTION(HistogramEven);
};
#undef FUNCTION

}  // namespace cub
