// Problem:  step 01 loads 4 bytes per instruction, and each element four times.
// Idea:     4 outputs per thread from two aligned float4, its own and the previous one, enough for k <= 4. Threads are
//           shifted to each row's 16-byte boundaries; both ends of a row are accessed as single floats.
// Expect:   0.85 to 1.0 of a copy at 8x4096: one float4 from DRAM, one from L1, as stencil1d_04 (1.00). Rows of 4095
//           floats lose a few percent.
// Measured: 2.24x step 01, 0.87 of a copy at 8x4096 (H200).
// Next:     decoding makes one token at a time. What must be kept from step to step?
#include "../plane_grid.cuh"
#include "conv1d_causal.cuh"
#include "peeled.cuh"

__global__ void conv1d_causal_window(const float* __restrict__ x, const float* __restrict__ w,
                                     const float* __restrict__ bias, float* __restrict__ out, std::int64_t rows,
                                     unsigned channels, long long length, int k, bool aligned) {
  const std::int64_t row = plane_of_block();
  if (row >= rows) return;
  x += row * length;
  out += row * length;
  const int shift = (4 - floats_to_boundary(out)) % 4;  // aligns out + t to 16 bytes, and x + t if alike(x, out)
  const long long t = 4 * (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) - shift;
  if (t >= length) return;
  const auto channel = static_cast<unsigned>(row) % channels;

  // load: x[t - 4] to x[t + 3], 0 before the start
  float window[8] = {};
  if (aligned && t >= 4 && t + 4 <= length) {
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const float4 four = *reinterpret_cast<const float4*>(x + t - 4 + 4 * v);
      window[4 * v] = four.x, window[4 * v + 1] = four.y, window[4 * v + 2] = four.z, window[4 * v + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int j = 1; j < 8; ++j) window[j] = t - 4 + j >= 0 && t - 4 + j < length ? x[t - 4 + j] : 0.0f;
  }

  // compute: tap `back` multiplies the element `back` positions before the output's
  const float first = bias[channel];
  float sum[4] = {first, first, first, first};
#pragma unroll
  for (int back = kMostCausal - 1; back >= 0; --back) {
    if (back < k) {
#pragma unroll
      for (int o = 0; o < 4; ++o) sum[o] += w[std::size_t{channel} * k + (k - 1 - back)] * window[4 + o - back];
    }
  }

  // store
  if (aligned && t >= 0 && t + 4 <= length) {
    // __stcs, because nvcc splits a plain float4 store here into four 4-byte stores
    __stcs(reinterpret_cast<float4*>(out + t), make_float4(sum[0], sum[1], sum[2], sum[3]));
  } else {
#pragma unroll
    for (int o = 0; o < 4; ++o) {
      if (t + o >= 0 && t + o < length) out[t + o] = sum[o];
    }
  }
}

static void launch(const float* x, const float* w, const float* bias, float* out, std::size_t batch,
                   std::size_t channels, std::size_t length, int k) {
  const std::size_t rows = batch * channels;
  if (rows == 0 || length == 0) return;
  constexpr int block = 256;
  const bool aligned = alike(x, out);
  conv1d_causal_window<<<plane_grid(ceil_div(length + 3, 4 * block), rows), block>>>(
      x, w, bias, out, static_cast<std::int64_t>(rows), static_cast<unsigned>(channels), length, k, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv1dCausal, launch);
