// One thread per element of C = A A^T, both factors from global memory. The row of A is one element for all lanes of a
// warp, a broadcast. The other factor is A's row too, as A^T's column: lane by lane another row, k floats apart, 32
// sectors per request. The tile's row of A could come from shared memory as well; it would change nothing.
// Expect: a per cent of a copy's speed.
// Next question: the lanes want a column; what would they have to read instead, to be coalesced?
#include "aat.cuh"

constexpr unsigned kTile = 32;

// A grid of tiles of C, numbered row by row, `tiles` in each row.
__global__ void aat_strided(std::size_t m, std::size_t k, const float* __restrict__ A, float* __restrict__ C,
                            unsigned tiles) {
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles} * kTile + ty;
  const std::size_t column = std::size_t{blockIdx.x % tiles} * kTile + tx;
  if (row >= m || column >= m) return;
  float sum = 0.0f;
  for (std::size_t l = 0; l < k; ++l) sum += A[row * k + l] * A[column * k + l];
  C[row * m + column] = sum;
}

static void launch(std::size_t m, std::size_t k, const float* A, float* C) {
  if (m == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(m, kTile));
  const dim3 block(kTile, kTile);
  aat_strided<<<tiles * tiles, block>>>(m, k, A, C, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Aat, launch);
