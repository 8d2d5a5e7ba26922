// Problem:  k taps are 2 k FLOP for 8 bytes to and from DRAM: at k = 5 memory bandwidth is the limit, at 127 the FMAs.
// Idea:     one thread per output, signal and weights from global memory, a bounds test per tap.
// Expect:   0.4 to 0.6 of a copy at 2^26x5, as stencil1d_01 (0.55 on the H200). At 2^24x127 4 to 7 TFLOP/s: two loads,
//           a test and an address for each FMA.
// Measured: 0.45 of a copy at 2^26x5 (H200).
// Next:     all lanes need the same weight at the same time. Which memory is built for that?
#include "conv1d.cuh"

__global__ void conv1d_global(const float* __restrict__ in, const float* __restrict__ w, float* __restrict__ out,
                              long long n, int k) {
  const long long i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) {
    const long long at = i + j - k / 2;
    sum += w[j] * (at >= 0 && at < n ? in[at] : 0.0f);
  }
  out[i] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t n, int k) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  conv1d_global<<<grid, block>>>(in, w, out, static_cast<long long>(n), k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1d, launch);
