// Step 01 spends 4 of its 12 load instructions on coefficients that are the same for every thread. Idea: put them into
// constant memory. A multiplication takes an operand from there directly, with no load and no register, if the address
// is the same for the whole warp. The copy into the symbol goes from device to device, in the stream's order, so that
// the kernel before still sees the old values.
// Expect: next to nothing with 4 coefficients, whose loads L1 answered as broadcasts; the small copy costs two or three
// microseconds at every call. More of them are worth more: conv2d step 02.
// Next question: what if the lanes read different coefficients, c[threadIdx.x % 4]? (One after another: as many
// accesses as there are different addresses in the warp. Such a table belongs into shared memory.)
#include "stencil1d.cuh"

static __constant__ float stencil1d_c[kRadius];

__global__ void stencil1d_constant(const float* __restrict__ f, float* __restrict__ d, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
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
