// Problem:  a global load of step 01 touches 32 sectors.
// Idea:     load along the records, 4 sectors per request; store down a column: lane t stores word 32 t + ty, bank ty.
// Expect:   32 wavefronts per shared store, 1 per shared load. 0.8 to 1.2x step 01: the stride moves to the banks.
// Measured: 0.93x step 01, 0.30 of a copy at 2^21 (H200); 0.96x, 0.41 (H100).
// Next:     when do lanes share a bank and still take one wavefront? (When they read the same word: a broadcast.)
#include "bank_conflict.cuh"

constexpr int kTile = 32;

__global__ void bank_conflict_column_row(const float* __restrict__ in, float* __restrict__ out, std::size_t rows) {
  __shared__ float tile[kFields][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x} * kTile;
  // load
  if (row0 + ty < rows) tile[tx][ty] = in[(row0 + ty) * kFields + tx];
  __syncthreads();
  // store
  if (row0 + tx < rows) out[ty * rows + row0 + tx] = tile[ty][tx];
}

static void launch(const float* in, float* out, std::size_t rows) {
  if (rows == 0) return;
  const unsigned grid = ceil_div(rows, kTile);
  bank_conflict_column_row<<<grid, dim3(kFields, kTile)>>>(in, out, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BankConflict, launch);
