// Problem:  step 01's lanes read a column of A, which takes 32 sectors per request.
// Idea:     read both tiles along the rows of A, coalesced, and store the second one transposed in shared memory.
// Expect:   8 to 12x step 01, like sgemm_02. But the transposed store puts 32 lanes in one bank: 32 wavefronts.
// Measured: 10.7x step 01, 5.34 TFLOP/s at 16384 (H200); 10.7x, 5.34 TFLOP/s (H100).
// Next:     what is the cheapest way out of a 32-way bank conflict?
#include "aat.cuh"

constexpr unsigned kTile = 32;

__global__ void aat_shared_tile(std::size_t M, std::size_t K, const float* __restrict__ A, float* __restrict__ C,
                                unsigned tiles) {
  __shared__ float As[kTile][kTile], Bs[kTile][kTile];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row0 = std::size_t{blockIdx.x / tiles} * kTile, col0 = std::size_t{blockIdx.x % tiles} * kTile;
  float acc = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    As[ty][tx] = row0 + ty < M && k0 + tx < K ? A[(row0 + ty) * K + k0 + tx] : 0.0f;
    Bs[tx][ty] = col0 + ty < M && k0 + tx < K ? A[(col0 + ty) * K + k0 + tx] : 0.0f;
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kTile; ++k) acc += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  if (row0 + ty < M && col0 + tx < M) C[(row0 + ty) * M + col0 + tx] = acc;
}

static void launch(std::size_t M, std::size_t K, const float* A, float* C) {
  if (M == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(M, kTile));
  const dim3 block(kTile, kTile);
  aat_shared_tile<<<tiles * tiles, block>>>(M, K, A, C, tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Aat, launch);
