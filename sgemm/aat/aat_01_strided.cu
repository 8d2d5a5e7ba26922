// Problem:  C = A A^T: element (i, j) is the product of rows i and j of A. Lanes differ in j, so they read 32 rows.
// Idea:     one thread per element of C, both operands straight from global memory.
// Expect:   about 1 % of a copy: a row of A is a broadcast, a column of A takes 32 sectors per request, as in sgemm_01.
// Measured: 0.497 TFLOP/s at 16384 (H200); 0.497 TFLOP/s (H100).
// Next:     which elements would the lanes have to read instead to be coalesced?
#include "aat.cuh"

constexpr unsigned kTile = 32;

// Blocks are tiles of C, numbered row by row, `tiles` in each row.
__global__ void aat_strided(std::size_t M, std::size_t K, const float* __restrict__ A, float* __restrict__ C,
                            unsigned tiles) {
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles} * kTile + ty;
  const std::size_t col = std::size_t{blockIdx.x % tiles} * kTile + tx;
  if (row >= M || col >= M) return;
  float acc = 0.0f;
  for (std::size_t k = 0; k < K; ++k) acc += A[row * K + k] * A[col * K + k];
  C[row * M + col] = acc;
}

static void launch(std::size_t M, std::size_t K, const float* A, float* C) {
  if (M == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(M, kTile));
  const dim3 block(kTile, kTile);
  aat_strided<<<tiles * tiles, block>>>(M, K, A, C, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Aat, launch);
