// Problem:  4 of step 01's 12 loads fetch coefficients that are the same for every thread.
// Idea:     constant memory, since all lanes use one address: on sm_90 a load into a uniform register (ULDC). The
//           stream orders the copy into the symbol, so a kernel of this stream that still runs keeps the old values.
// Expect:   0.95 to 1.05x step 01: the 4 loads were broadcasts that hit L1; the copy costs 2 to 3 us per call.
// Measured: 1.00x step 01, 0.55 of a copy at 2^28 (H200); 1.00x, 0.71 (H100).
// Next:     what if lanes read different coefficients, c[threadIdx.x % 4]?
#include "stencil1d.cuh"

static __constant__ float stencil1d_c[kRadius];

__global__ void stencil1d_constant(const float* __restrict__ f, float* __restrict__ d, long long n) {
  const long long i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
#pragma unroll
  for (int k = 1; k <= kRadius; ++k) {
    const float right = i + k < n ? f[i + k] : 0.0f;
    const float left = i - k >= 0 ? f[i - k] : 0.0f;
    sum += stencil1d_c[k - 1] * (right - left);
  }
  d[i] = sum;
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  const auto grid = static_cast<unsigned>(ceil_div(n, block));
  CUDA_CHECK(cudaMemcpyToSymbol(stencil1d_c, c, kRadius * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  stencil1d_constant<<<grid, block>>>(f, d, static_cast<long long>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
