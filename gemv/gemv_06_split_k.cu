// Step 05 has as many blocks as rows, and 128 of them leave most of the GPU idle. Idea: split k. Several blocks share a
// row, each takes one piece of it and stores its sum; a second kernel adds a row's partial sums, always in the same
// order: the same bits every run. (An atomicAdd per block would save the second kernel, but y had to be scaled by beta
// before, and the order and with it the last bits would change from run to run.)
// Expect: nearly twice step 05's speed for 128 rows, nothing for 1024; a second launch, a microsecond or two, where
// there is nothing to split.
// Next question: six kernels, each best somewhere. Which one do you ship?
#include "block_reduce.cuh"
#include "gemv.cuh"

#include <algorithm>

constexpr int kBlock = 256;
constexpr std::size_t kMinPiece = 4096;  // floats of a row that are worth a block

__device__ static float dot4(float4 a, float4 x) { return (a.x * x.x + a.y * x.y) + (a.z * x.z + a.w * x.w); }

// sums[row * pieces + p]: row times x, over elements [p * piece, (p + 1) * piece); piece is a multiple of 4.
__global__ void gemv_split_k(std::size_t k, const float* __restrict__ A, std::size_t lda, const float* __restrict__ x,
                             float* __restrict__ sums, bool aligned, unsigned pieces, std::size_t piece) {
  const std::size_t row = blockIdx.x / pieces, begin = blockIdx.x % pieces * piece;
  const std::size_t length = begin < k ? min(piece, k - begin) : 0;
  const float* a = A + row * lda + begin;
  const float4* a4 = reinterpret_cast<const float4*>(a);
  const float4* x4 = reinterpret_cast<const float4*>(x + begin);
  const std::size_t k4 = aligned ? length / 4 : 0;
  float sum = 0.0f;
#pragma unroll 4
  for (std::size_t j = threadIdx.x; j < k4; j += kBlock) sum += dot4(a4[j], x4[j]);
  for (std::size_t j = 4 * k4 + threadIdx.x; j < length; j += kBlock) sum += a[j] * x[begin + j];
  sum = block_sum_once<kBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void gemv_add_pieces(std::size_t m, unsigned pieces, const float* __restrict__ sums, float alpha, float beta,
                                float* __restrict__ y) {
  const std::size_t row = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= m) return;
  float sum = 0.0f;
  for (unsigned p = 0; p < pieces; ++p) sum += sums[row * pieces + p];
  y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  // 32 blocks for each SM, which are several waves on any GPU, but no piece too small.
  const std::size_t wanted = ceil_div(std::size_t{32} * sm_count(), m);
  const auto pieces = static_cast<unsigned>(std::clamp<std::size_t>(k / kMinPiece, 1, wanted));
  const std::size_t piece = 4 * ceil_div(k, 4 * static_cast<std::size_t>(pieces));
  float* sums = scratch<float>(m * pieces);
  gemv_split_k<<<static_cast<unsigned>(m * pieces), kBlock>>>(k, A, lda, x, sums, aligned, pieces, piece);
  CUDA_CHECK(cudaGetLastError());
  gemv_add_pieces<<<static_cast<unsigned>(ceil_div(m, kBlock)), kBlock>>>(m, pieces, sums, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
