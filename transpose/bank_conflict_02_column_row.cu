// Step 01 reads global memory with a stride. Idea: read it along the records, 4 sectors per request, and turn the tile
// in shared memory: store down a column, read along a row. Lane t stores word 32 t + ty: all 32 in bank ty.
// Expect: 32 wavefronts per shared store, the worst there is, and 1 per shared load. Whether that is slower than step
// 01 depends on what is scarce; a stride in global memory costs the same 32, but L1 and L2 have to serve it.
// Next question: when do lanes share a bank and still take one wavefront? (When they read the same word: a broadcast.)
#include "bank_conflict.cuh"

constexpr int kTile = 32;

__global__ void bank_conflict_column_row(const float* __restrict__ in, float* __restrict__ out, std::size_t rows) {
  __shared__ float tile[kFields][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = static_cast<std::size_t>(blockIdx.x) * kTile;
  if (row0 + ty < rows) tile[tx][ty] = in[(row0 + ty) * kFields + tx];
  __syncthreads();
  if (row0 + tx < rows) out[ty * rows + row0 + tx] = tile[ty][tx];
}

static void launch(const float* in, float* out, std::size_t rows) {
  if (rows == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kTile));
  bank_conflict_column_row<<<grid, dim3(kFields, kTile)>>>(in, out, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BankConflict, launch);
