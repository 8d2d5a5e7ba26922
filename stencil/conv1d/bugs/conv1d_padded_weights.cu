// bug: pads the filter with weights of 0 to a multiple of 4, but 0 times infinity or NaN is NaN: an element just past
// the window makes its result NaN
// caught by: cpu forward | got nan
// caught by: gpu | got nan
// stage: right
#include "../conv1d.cuh"

constexpr int kBlock = 256, kOutputs = 4, kTile = kBlock * kOutputs;  // threads, outputs per thread and per block

static __constant__ float conv1d_padded_w[kMostTaps];

__global__ void __launch_bounds__(kBlock)
    conv1d_padded_weights(const float* __restrict__ in, float* __restrict__ out, long long n, int k, bool aligned) {
  __shared__ float4 tile[kBlock + ceil_div(kMostTaps, 4)];
  const int tid = threadIdx.x;
  const long long first = std::int64_t{blockIdx.x} * kTile;

  // load tile and halo, up to a whole float4
  float* const elements = reinterpret_cast<float*>(tile);
#pragma unroll 4
  for (int t = tid; t < kTile + ceil_div(k, 4) * 4; t += kBlock) {
    const long long at = first + t - k / 2;
    elements[t] = at >= 0 && at < n ? in[at] : 0.0f;
  }
  __syncthreads();

  // compute: output o of this thread begins at element 4 tid + o
  float sum[kOutputs] = {};
  float4 low = tile[tid];
  for (int j = 0; j < k; j += 4) {
    const float4 high = tile[tid + j / 4 + 1];
    const float window[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int tap = 0; tap < 4; ++tap) {
      const float weight = j + tap < k ? conv1d_padded_w[j + tap] : 0.0f;
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) sum[o] += weight * window[tap + o];
    }
    low = high;
  }

  // store
  const long long i = first + kOutputs * tid;
  if (aligned && i + kOutputs <= n) {
    *reinterpret_cast<float4*>(out + i) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  } else {
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      if (i + o < n) out[i + o] = sum[o];
    }
  }
}

static void launch(const float* in, const float* w, float* out, std::size_t n, int k) {
  if (n == 0) return;
  const auto grid = static_cast<unsigned>(ceil_div(n, kTile));
  CUDA_CHECK(cudaMemcpyToSymbolAsync(conv1d_padded_w, w, k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  conv1d_padded_weights<<<grid, kBlock>>>(in, out, static_cast<long long>(n), k, aligned_for<float4>(out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1d, launch);
