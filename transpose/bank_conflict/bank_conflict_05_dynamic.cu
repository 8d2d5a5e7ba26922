// Problem:  8 lanes of a store in step 04 share a bank.
// Idea:     the launch chooses the pitch, and so the size of shared memory (extern __shared__, third launch argument).
//           Pitch 9 is odd: words 9 t + ty hit every bank once.
// Expect:   1 wavefront per shared store, 2 per load: four pieces of 8 words, from 0, 9, 18, 27 on, overlap in 3 banks.
// Measured: 1.02x step 04, 0.55 of a copy at 2^21 (H200); 1.01x, 0.70 (H100).
// Next:     is there a layout with 1 and 1? (Not with a pitch: one phase wants it odd, the other an odd multiple of 8.
//           A swizzle: record r of field f at f * 8 + (r ^ f / 4).)
#include "bank_conflict.cuh"

constexpr int kRows = 8;

__global__ void bank_conflict_dynamic(const float* __restrict__ in, float* __restrict__ out, std::size_t rows,
                                      int pitch) {
  extern __shared__ float tile[];  // [kFields][pitch]
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x} * kRows;
  // load
  if (row0 + ty < rows) tile[tx * pitch + ty] = in[(row0 + ty) * kFields + tx];
  __syncthreads();
  // store
  const int thread = ty * kFields + tx, row = thread % kRows, field = thread / kRows;
  if (row0 + row < rows) out[field * rows + row0 + row] = tile[field * pitch + row];
}

static void launch(const float* in, float* out, std::size_t rows) {
  if (rows == 0) return;
  constexpr int pitch = kRows + 1;
  const unsigned grid = ceil_div(rows, kRows);
  bank_conflict_dynamic<<<grid, dim3(kFields, kRows), kFields * pitch * sizeof(float)>>>(in, out, rows, pitch);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(BankConflict, launch);
