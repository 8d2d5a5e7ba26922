// Step 02 still asks global memory for each element 8 times. Idea: the block loads its piece of f once, with a halo of
// 4 elements on either side, into shared memory. All threads fill the tile in a loop that covers it whatever the
// block's size and wherever the array ends; no thread may return before the barrier.
// Expect: no gain, or a loss. L1 caught those 8 requests already, and sits in the same memory as the tile: 8 loads from
// the one became 8 loads from the other, plus a store and a barrier.
// Next question: where does a tile pay, then? (Where L1 does not catch it: strided reuse, large footprints, data that
// is worth computing once, as in blur step 05. And where the reads must be fewer, go on to registers.)
#include "stencil1d.cuh"

constexpr int kBlock = 256;

static __constant__ float stencil1d_tile_c[kRadius];

__global__ void stencil1d_shared_tile(const float* __restrict__ f, float* __restrict__ d, long long n) {
  __shared__ float tile[kBlock + 2 * kRadius];
  const int tid = threadIdx.x;
  const long long first = static_cast<long long>(blockIdx.x) * kBlock;
  for (int j = tid; j < kBlock + 2 * kRadius; j += kBlock) {
    const long long at = first + j - kRadius;
    tile[j] = at >= 0 && at < n ? f[at] : 0.0f;
  }
  __syncthreads();
  if (first + tid >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 1; k <= kRadius; ++k) {
    sum += stencil1d_tile_c[k - 1] * (tile[tid + kRadius + k] - tile[tid + kRadius - k]);
  }
  d[first + tid] = sum;
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(n, kBlock));
  CUDA_CHECK(cudaMemcpyToSymbol(stencil1d_tile_c, c, kRadius * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  stencil1d_shared_tile<<<grid, kBlock>>>(f, d, static_cast<long long>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
