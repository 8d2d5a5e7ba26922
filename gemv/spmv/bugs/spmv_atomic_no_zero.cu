// bug: a thread per nonzero adds its product to y with atomicAdd, but nothing sets y to 0 first
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../merge_path.cuh"
#include "../spmv.cuh"

__global__ void spmv_atomic_no_zero(const int* __restrict__ ends, const int* __restrict__ columns,
                                    const float* __restrict__ values, const float* __restrict__ x,
                                    float* __restrict__ y, std::size_t rows, std::size_t nnz) {
  const std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (e >= nnz) return;
  int low = 0, high = static_cast<int>(rows) - 1;  // find the first row that ends after e
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (static_cast<std::size_t>(ends[middle]) <= e) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  atomicAdd(y + low, values[e] * x[columns[e]]);
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t nnz) {
  if (rows == 0 || nnz == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(nnz, block));
  spmv_atomic_no_zero<<<grid, block>>>(offsets + 1, columns, values, x, y, rows, nnz);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
