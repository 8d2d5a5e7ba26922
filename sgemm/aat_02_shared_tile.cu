// Step 01's lanes read a column of A^T with 32 sectors per request. Idea: read tiles of A along its rows, coalesced,
// both for the factor on the left and for the one on the right, and write the second one into shared memory transposed:
// then `b[l][tx]` is a row again. But the transposed write goes down a column of 32 floats: all 32 lanes in one bank.
// Expect: some ten times step 01.
// Next question: how many passes does one such write take, and what is the cheapest way out? (32; a column more.)
#include "aat.cuh"

constexpr unsigned kTile = 32;

__global__ void aat_shared_tile(std::size_t m, std::size_t k, const float* __restrict__ A, float* __restrict__ C,
                                unsigned tiles) {
  __shared__ float a[kTile][kTile], b[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles} * kTile, column0 = std::size_t{blockIdx.x % tiles} * kTile;
  float sum = 0.0f;
  for (std::size_t l0 = 0; l0 < k; l0 += kTile) {
    a[ty][tx] = row0 + ty < m && l0 + tx < k ? A[(row0 + ty) * k + l0 + tx] : 0.0f;
    b[tx][ty] = column0 + ty < m && l0 + tx < k ? A[(column0 + ty) * k + l0 + tx] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned l = 0; l < kTile; ++l) sum += a[ty][l] * b[l][tx];
    __syncthreads();
  }
  if (row0 + ty < m && column0 + tx < m) C[(row0 + ty) * m + column0 + tx] = sum;
}

static void launch(std::size_t m, std::size_t k, const float* A, float* C) {
  if (m == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(m, kTile));
  const dim3 block(kTile, kTile);
  aat_shared_tile<<<tiles * tiles, block>>>(m, k, A, C, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Aat, launch);
