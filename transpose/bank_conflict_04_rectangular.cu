// Steps 01 to 03 have a square tile. Idea: a rectangle, 8 records of 32 fields, a block of 32 x 8 threads. A row of the
// tile is 8 words now, so the second phase numbers the threads anew: 4 fields of 8 records per warp. No padding again.
// Expect: lane t stores word 8 t + ty; the banks repeat every 4 lanes, so 8 lanes share one: 8 wavefronts per store. A
// warp reads 32 words in a row: 1 wavefront. In global memory the stores are 4 pieces of 32 bytes: still 4 sectors,
// where rows is a multiple of 8 (and `out` of 32 bytes).
// Next question: which pitch gives 1 wavefront for the store, and what does it do to the load?
#include "bank_conflict.cuh"

constexpr int kRows = 8;

__global__ void bank_conflict_rectangular(const float* __restrict__ in, float* __restrict__ out, std::size_t rows) {
  __shared__ float tile[kFields][kRows];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x) * kRows;
  if (row0 + ty < rows) tile[tx][ty] = in[(row0 + ty) * kFields + tx];
  __syncthreads();
  const int thread = ty * kFields + tx, row = thread % kRows, field = thread / kRows;
  if (row0 + row < rows) out[field * rows + row0 + row] = tile[field][row];
}

static void launch(const float* in, float* out, std::size_t rows) {
  if (rows == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kRows));
  bank_conflict_rectangular<<<grid, dim3(kFields, kRows)>>>(in, out, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BankConflict, launch);
