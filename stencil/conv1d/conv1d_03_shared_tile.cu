// Problem:  step 02 tests bounds and computes a 64-bit address for every tap.
// Idea:     a tile in shared memory with a halo of k - 1 elements, loaded by all threads in a loop. Elements
//           outside the signal are stored as 0 once; a tap is a load at a 32-bit address and an FMA.
// Expect:   0.7 to 1.0x step 02 at 2^26x5, where 5 taps do not pay for the tile; 1.5 to 2.5x at 2^26x31. (At 2^24x127
//           it was slower than step 02 on the H200, the cause was not found.)
// Measured: 0.80x step 02, 0.36 of a copy at 2^26x5 (H200).
// Next:     one shared load per FMA. Windows of neighbouring outputs differ by one element: how could they share loads?
#include "conv1d.cuh"

constexpr int kBlock = 256;

static __constant__ float conv1d_tile_w[kMostTaps];

__global__ void conv1d_shared_tile(const float* __restrict__ in, float* __restrict__ out, long long n, int k) {
  __shared__ float tile[kBlock + kMostTaps - 1];
  const int tid = threadIdx.x;
  const long long first = std::int64_t{blockIdx.x} * kBlock;

  // load tile and halo, 0 outside the signal
  for (int t = tid; t < kBlock + k - 1; t += kBlock) {
    const long long at = first + t - k / 2;
    tile[t] = at >= 0 && at < n ? in[at] : 0.0f;
  }
  __syncthreads();
  if (first + tid >= n) return;

  // compute and store
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += conv1d_tile_w[j] * tile[tid + j];
  out[first + tid] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t n, int k) {
  if (n == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(n, kBlock));
  CUDA_CHECK(cudaMemcpyToSymbolAsync(conv1d_tile_w, w, k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  conv1d_shared_tile<<<grid, kBlock>>>(in, out, static_cast<long long>(n), k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1d, launch);
