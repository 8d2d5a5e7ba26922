// The library: cub::DeviceScan. The first call returns the size of its temporary storage; the second one runs.
// needs: gpu
#include "scan.cuh"

#include <cub/device/device_scan.cuh>

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  const auto scan = [&](void* storage, std::size_t& bytes) {
    return exclusive ? cub::DeviceScan::ExclusiveSum(storage, bytes, x, out, n)
                     : cub::DeviceScan::InclusiveSum(storage, bytes, x, out, n);
  };
  std::size_t bytes = 0;
  CUDA_CHECK(scan(nullptr, bytes));
  CUDA_CHECK(scan(scratch<unsigned char>(bytes), bytes));
}

// CUB specifies no order, so the bound must hold for any order.
LADDER_STEP(Scan, launch);
