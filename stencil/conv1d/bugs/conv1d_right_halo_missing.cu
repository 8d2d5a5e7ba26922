// bug: each thread loads one element, and the first k / 2 threads load a second one to the left; the halo on the right
// is never loaded and keeps what shared memory held before
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../conv1d.cuh"

constexpr int kBlock = 256;

static __constant__ float conv1d_halo_w[kMostTaps];

__global__ void conv1d_right_halo_missing(const float* __restrict__ in, float* __restrict__ out, long long n, int k) {
  __shared__ float tile[kBlock + kMostTaps - 1];
  const int tid = threadIdx.x;
  const long long first = std::int64_t{blockIdx.x} * kBlock;

  // load tile and halo, 0 outside the signal
  const long long own = first + tid, left = own - k / 2;
  if (tid < k / 2) tile[tid] = left >= 0 && left < n ? in[left] : 0.0f;
  tile[tid + k / 2] = own < n ? in[own] : 0.0f;
  __syncthreads();
  if (first + tid >= n) return;

  // compute and store
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += conv1d_halo_w[j] * tile[tid + j];
  out[first + tid] = sum;
}

static void launch(const float* in, const float* w, float* out, std::size_t n, int k) {
  if (n == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(n, kBlock));
  CUDA_CHECK(cudaMemcpyToSymbolAsync(conv1d_halo_w, w, k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  conv1d_right_halo_missing<<<grid, kBlock>>>(in, out, static_cast<long long>(n), k);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1d, launch);
