// Problem:  every second load of step 01 fetches a weight, the same for all threads of the grid.
// Idea:     weights in constant memory: a warp reads one word, from a separate cache. The stream orders the copy into
//           the symbol.
// Expect:   0.95 to 1.1x step 01 at all sizes: its weights hit L1, and a load from constant memory is an instruction
//           too. Instructions are the limit.
// Measured: 1.01x step 01, 0.45 of a copy at 2^26x5 (H200).
// Next:     every tap still has a bounds test and a 64-bit address. Where could they be computed only once?
#include "conv1d.cuh"

static __constant__ float conv1d_w[kMostTaps];

__global__ void conv1d_constant(const float* __restrict__ in, float* __restrict__ out, long long n, int k) {
  const long long i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) {
    const long long at = i + j - k / 2;
    sum += conv1d_w[j] * (at >= 0 && at < n ? in[at] : 0.0f);
  }
  out[i] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t n, int k) {
  if (n == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  CUDA_CHECK(cudaMemcpyToSymbolAsync(conv1d_w, w, k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  conv1d_constant<<<grid, block>>>(in, out, static_cast<long long>(n), k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1d, launch);
