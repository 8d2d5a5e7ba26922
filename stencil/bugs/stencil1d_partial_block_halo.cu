// bug: the first threads load the right halo from kBlock elements further on, but return if they are past the end, and
// in a partial last block the element after the last thread's stays unset
// caught by: cpu forward | is wrong | --n=300
// caught by: gpu | is wrong | --n=1000044
#include "../stencil1d.cuh"

constexpr int kBlock = 256;

__global__ void stencil1d_partial_block_halo(const float* __restrict__ f, const float* __restrict__ c,
                                             float* __restrict__ d, long long n) {
  __shared__ float tile[kBlock + 2 * kRadius];
  const int tid = threadIdx.x;
  const long long i = static_cast<long long>(blockIdx.x) * kBlock + tid;
  if (i < n) {
    tile[tid + kRadius] = f[i];
    if (tid < kRadius) {
      tile[tid] = i >= kRadius ? f[i - kRadius] : 0.0f;
      tile[tid + kRadius + kBlock] = i + kBlock < n ? f[i + kBlock] : 0.0f;  // nobody sets tile[n - first + kRadius]
    }
  }
  __syncthreads();
  if (i >= n) return;
  float sum = 0;
  for (int k = 1; k <= kRadius; ++k) sum += c[k - 1] * (tile[tid + kRadius + k] - tile[tid + kRadius - k]);
  d[i] = sum;
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;
  stencil1d_partial_block_halo<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(f, c, d,
                                                                                       static_cast<long long>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
