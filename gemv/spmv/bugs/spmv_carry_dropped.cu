// bug: a thread that stops within a row drops its part of the sum: nothing adds the carries
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../merge_path.cuh"
#include "../spmv.cuh"

constexpr int kBlock = 256, kSteps = 16;

__global__ void spmv_carry_dropped(const int* __restrict__ ends, const int* __restrict__ columns,
                                   const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                   std::size_t rows, std::size_t path, std::size_t walks) {
  const std::size_t walk = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (walk >= walks) return;
  const std::size_t first = walk * kSteps;
  PathPlace at = place_on_path(ends, static_cast<int>(rows), first);
  float sum = 0.0f;
  for (std::size_t step = first; step < min(first + kSteps, path); ++step) {
    if (at.element < ends[at.row]) {
      sum += values[at.element] * x[columns[at.element]];
      ++at.element;
    } else {
      y[at.row++] = sum;
      sum = 0.0f;
    }
  }
}

static void launch(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                   std::size_t rows, std::size_t /*cols*/, std::size_t nnz) {
  if (rows == 0) return;
  const std::size_t path = rows + nnz, walks = ceil_div(path, kSteps);
  const auto grid = static_cast<unsigned>(ceil_div(walks, kBlock));
  spmv_carry_dropped<<<grid, kBlock>>>(offsets + 1, columns, values, x, y, rows, path, walks);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Spmv, launch);
