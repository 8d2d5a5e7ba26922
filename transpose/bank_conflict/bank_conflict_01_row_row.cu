// Problem:  shared memory has 32 banks; word w lies in bank w % 32. Different words of one bank take a wavefront each.
// Idea:     the tile is stored and loaded along its rows: every bank once. Lanes read global memory 128 bytes apart.
// Expect:   1 wavefront per shared request, both ways, and 32 sectors per global load.
// Measured: 0.32 of a copy at 2^21 (H200); 0.43 (H100).
// Next:     the stride is in global memory. Is it cheaper in shared memory?
#include "bank_conflict.cuh"

constexpr int kTile = 32;

__global__ void bank_conflict_row_row(const float* __restrict__ in, float* __restrict__ out, std::size_t rows) {
  __shared__ float tile[kTile][kFields];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x} * kTile;
  // load
  if (row0 + tx < rows) tile[ty][tx] = in[(row0 + tx) * kFields + ty];
  __syncthreads();
  // store
  if (row0 + tx < rows) out[ty * rows + row0 + tx] = tile[ty][tx];
}

static void launch(const float* in, float* out, std::size_t rows) {
  if (rows == 0) return;
  const unsigned grid = ceil_div(rows, kTile);
  bank_conflict_row_row<<<grid, dim3(kFields, kTile)>>>(in, out, rows);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BankConflict, launch);
