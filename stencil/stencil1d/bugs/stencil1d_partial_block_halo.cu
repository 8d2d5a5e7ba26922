// bug: the first threads load the right halo from kBlock elements further on. In a partial last tile the element after
// the last thread's isn't set and keeps a value of the previous tile.
// caught by: cpu forward | is wrong | --n=300
// caught by: gpu | is wrong | --n=300
// stage: right
#include "../stencil1d.cuh"

constexpr int kBlock = 256;
constexpr int kTiles = 2;  // per block, one after the other

__global__ void stencil1d_partial_block_halo(const float* __restrict__ f, const float* __restrict__ c,
                                             float* __restrict__ d, long long n) {
  __shared__ float tile[kBlock + 2 * kRadius];
  const int tid = threadIdx.x;
  for (int t = 0; t < kTiles; ++t) {
    const long long i = (std::int64_t{blockIdx.x} * kTiles + t) * kBlock + tid;
    __syncthreads();  // the previous tile has been read
    if (i < n) {
      tile[tid + kRadius] = f[i];
      if (tid < kRadius) {
        tile[tid] = i >= kRadius ? f[i - kRadius] : 0.0f;
        tile[tid + kRadius + kBlock] =
            i + kBlock < n ? f[i + kBlock] : 0.0f;  // no thread sets tile[n - first + kRadius]
      }
    }
    __syncthreads();
    float sum = 0;
    for (int k = 1; k <= kRadius; ++k) sum += c[k - 1] * (tile[tid + kRadius + k] - tile[tid + kRadius - k]);
    if (i < n) d[i] = sum;
  }
}

static void launch(const float* f, const float* c, float* d, std::size_t n) {
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock * kTiles));
  stencil1d_partial_block_halo<<<blocks, kBlock>>>(f, c, d, static_cast<long long>(n));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Stencil1d, launch);
