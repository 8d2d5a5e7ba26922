// bug: each block saves only its own tile and overwrites the mirrored one, which another block may not have read yet
// caught by: cpu forward | is wrong
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong | --n=4097
// stage: right
#include "../transpose_inplace.cuh"

constexpr int kTile = 32;

__global__ void transpose_half_saved(float* a, std::size_t n) {
  __shared__ float tile[kTile][kTile + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t col0 = std::size_t{blockIdx.x} * kTile;
  const std::size_t row0 = std::size_t{blockIdx.y} * kTile;
  if (row0 + ty < n && col0 + tx < n) tile[ty][tx] = a[(row0 + ty) * n + col0 + tx];
  __syncthreads();  // synchronizes this block, not the others
  if (col0 + ty < n && row0 + tx < n) a[(col0 + ty) * n + row0 + tx] = tile[tx][ty];
}

static void launch(float* a, std::size_t n) {
  if (n == 0) return;
  const unsigned tiles = ceil_div(n, kTile);
  transpose_half_saved<<<dim3(tiles, tiles), dim3(kTile, kTile)>>>(a, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TransposeInplace, launch);
