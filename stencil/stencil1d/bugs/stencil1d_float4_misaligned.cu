// bug: float4 accesses without a test that f and d are 16-byte aligned
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../stencil1d.cuh"

__global__ void stencil1d_float4_misaligned(const float* __restrict__ f, const float* __restrict__ c,
                                            float* __restrict__ d, long long n) {
  const long long i = 4 * (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float window[12];
  if (i >= 4 && i + 8 <= n) {  // and f aligned
    for (int v = 0; v < 3; ++v) {
      const float4 four = *reinterpret_cast<const float4*>(f + i - 4 + 4 * v);
      window[4 * v] = four.x, window[4 * v + 1] = four.y, window[4 * v + 2] = four.z, window[4 * v + 3] = four.w;
    }
  } else {
    for (int j = 0; j < 12; ++j) window[j] = i - 4 + j >= 0 && i - 4 + j < n ? f[i - 4 + j] : 0.0f;
  }
  for (int x = 0; x < 4 && i + x < n; ++x) {
    float sum = 0;
    for (int k = 1; k <= kRadius; ++k) sum += c[k - 1] * (window[4 + x + k] - window[4 + x - k]);
    d[i + x] = sum;
  }
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;
  constexpr int block = 256;
  stencil1d_float4_misaligned<<<static_cast<unsigned>(ceil_div(n, 4 * block)), block>>>(f, c, d,
                                                                                        static_cast<long long>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
