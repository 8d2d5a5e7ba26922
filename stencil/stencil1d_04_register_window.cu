// Steps 01 to 03 move 4 bytes per instruction, and 8 loads make one point. Idea: a thread computes 4 neighbouring
// points, for which it needs 12 elements, from i - 4 to i + 7: three float4, all aligned if f is, for the radius is
// just 4. They stay in registers: 3 loads for 4 points instead of 32. Two of the three are what the neighbouring lanes
// load as their own, so L1 has them. The coefficients are 4 loads and 4 registers, which spares the copy into constant
// memory. Large blocks ask for 16 KB that lie side by side, which DRAM likes.
// Expect: a copy's speed.
// Next question: and with a radius of 3? (The same three float4: a halo is rounded up to what alignment wants.)
#include "stencil1d.cuh"

__global__ void stencil1d_register_window(const float* __restrict__ f, const float* __restrict__ c,
                                          float* __restrict__ d, long long n, bool aligned) {
  const long long i = 4 * (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float window[12];  // f[i - 4] to f[i + 7]
  if (aligned && i >= 4 && i + 8 <= n) {
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      const float4 four = *reinterpret_cast<const float4*>(f + i - 4 + 4 * v);
      window[4 * v] = four.x, window[4 * v + 1] = four.y, window[4 * v + 2] = four.z, window[4 * v + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int j = 0; j < 12; ++j) {
      const long long at = i - 4 + j;
      window[j] = at >= 0 && at < n ? f[at] : 0.0f;
    }
  }
  float sum[4] = {};
#pragma unroll
  for (int k = 1; k <= kRadius; ++k) {
    const float weight = c[k - 1];
#pragma unroll
    for (int x = 0; x < 4; ++x) sum[x] += weight * (window[4 + x + k] - window[4 + x - k]);
  }
  if (aligned && i + 4 <= n) {
    *reinterpret_cast<float4*>(d + i) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  } else {
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (i + x < n) d[i + x] = sum[x];
    }
  }
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 1024;
  const auto grid = static_cast<unsigned>(ceil_div(n, 4 * block));
  stencil1d_register_window<<<grid, block>>>(f, c, d, static_cast<long long>(n), aligned_for<float4>(f, d));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
