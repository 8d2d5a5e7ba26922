// The first answer: a thread per point, and everything from global memory, the coefficients too. It is less naive than
// it looks: each element of f is asked for 8 times, but the lanes of a warp want neighbours, and L1 answers all but
// one.
// Expect: far above an eighth of a copy's speed, below a copy with 4-byte loads: 12 load instructions per point wait in
// the same queue.
// Next question: all lanes read the same c[k]. Which memory is built for that?
#include "stencil1d.cuh"

__global__ void stencil1d_global(const float* __restrict__ f, const float* __restrict__ c, float* __restrict__ d,
                                 long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 1; k <= kRadius; ++k) {
    const float right = i + k < n ? f[i + k] : 0.0f;
    const float left = i - k >= 0 ? f[i - k] : 0.0f;
    sum += c[k - 1] * (right - left);
  }
  d[i] = sum;
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;  // a grid of 0 blocks is an error
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  stencil1d_global<<<grid, block>>>(f, c, d, static_cast<long long>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
