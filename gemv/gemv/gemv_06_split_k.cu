// Problem:  step 05 has as many blocks as rows: 128 blocks on 132 SMs that hold 6 each.
// Idea:     split k. Several blocks share a row and store partial sums; a second kernel adds them in a fixed order.
// Expect:   1.5 to 3x step 05 at 128x2^20; 1 to 2 us slower where there is nothing to split.
// Measured: 2.26x step 05, 1.01x cuBLAS at 128x2^20 (H200); 1.78x, 0.99x (H100).
// Next:     what about an atomicAdd per block? (y must be scaled by beta first, and the last bits vary.)
#include "block_reduce.cuh"
#include "../float4.cuh"
#include "gemv.cuh"

#include <algorithm>

constexpr int kBlock = 256;
constexpr std::size_t kMinSlice = 4096;  // shortest slice, in floats

// partials[row * slices + s] = sum over elements [s * slice, (s + 1) * slice). slice must be a multiple of 4.
__global__ void gemv_split_k(std::size_t k, const float* __restrict__ A, std::size_t lda, const float* __restrict__ x,
                             float* __restrict__ partials, bool aligned, unsigned slices, std::size_t slice) {
  const std::size_t row = blockIdx.x / slices, begin = blockIdx.x % slices * slice;
  const std::size_t length = begin < k ? min(slice, k - begin) : 0;
  const float* a = A + row * lda + begin;
  const float4* a4 = reinterpret_cast<const float4*>(a);
  const float4* x4 = reinterpret_cast<const float4*>(x + begin);
  const std::size_t k4 = aligned ? length / 4 : 0;
  float sum = 0.0f;
#pragma unroll 4
  for (std::size_t j = threadIdx.x; j < k4; j += kBlock) sum += dot4(a4[j], x4[j]);
  for (std::size_t j = 4 * k4 + threadIdx.x; j < length; j += kBlock) sum += a[j] * x[begin + j];
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void gemv_add_slices(std::size_t m, unsigned slices, const float* __restrict__ partials, float alpha,
                                float beta, float* __restrict__ y) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float sum = 0.0f;
  for (unsigned s = 0; s < slices; ++s) sum += partials[row * slices + s];
  y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  // 32 blocks per SM are several waves on any GPU, but no slice is shorter than kMinSlice
  const std::size_t wanted = ceil_div(std::size_t{32} * sm_count(), m);
  const auto slices = static_cast<unsigned>(std::clamp<std::size_t>(k / kMinSlice, 1, wanted));
  const std::size_t slice = 4 * ceil_div(k, 4 * std::size_t{slices});
  float* partials = scratch<float>(m * slices);
  gemv_split_k<<<static_cast<unsigned>(m * slices), kBlock>>>(k, A, lda, x, partials, aligned, slices, slice);
  CUDA_CHECK(cudaGetLastError());
  gemv_add_slices<<<static_cast<unsigned>(ceil_div(m, kBlock)), kBlock>>>(m, slices, partials, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
