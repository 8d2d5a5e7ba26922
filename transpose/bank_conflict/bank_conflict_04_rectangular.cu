// Problem:  steps 01 to 03 have a square tile. What changes with another shape?
// Idea:     8 records, 32 x 8 threads, no padding. Rows have 8 words, so in the second phase a warp has 4 fields.
// Expect:   8 wavefronts per shared store (lane t stores word 8 t + ty: 8 lanes share a bank), 1 per shared load.
// Measured: 1.16x step 03, 0.53 of a copy at 2^21 (H200); 1.16x, 0.69 (H100).
// Next:     which pitch gives 1 wavefront for the store, and what does it do to the load?
#include "bank_conflict.cuh"

constexpr int kRows = 8;

__global__ void bank_conflict_rectangular(const float* __restrict__ in, float* __restrict__ out, std::size_t rows) {
  __shared__ float tile[kFields][kRows];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x} * kRows;
  // load
  if (row0 + ty < rows) tile[tx][ty] = in[(row0 + ty) * kFields + tx];
  __syncthreads();
  // store: pieces of 32 bytes, each a sector if rows is a multiple of 8
  const int thread = ty * kFields + tx, row = thread % kRows, field = thread / kRows;
  if (row0 + row < rows) out[field * rows + row0 + row] = tile[field][row];
}

static void launch(const float* in, float* out, std::size_t rows) {
  if (rows == 0) return;
  const unsigned grid = ceil_div(rows, kRows);
  bank_conflict_rectangular<<<grid, dim3(kFields, kRows)>>>(in, out, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BankConflict, launch);
