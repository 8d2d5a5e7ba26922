// Step 02's lanes load 4 bytes at a time. Idea: float4 for A and x, a quarter of the instructions, and four times the
// bytes in flight for the same number of loads. Row i starts at A + i * lda, so all rows are 16-byte aligned only if A
// is and lda is a multiple of 4; x must be too. The last k % 4 elements go one by one, and so does everything where the
// rows are not aligned.
// Expect: some per cent on mid-size matrices, more where few warps have long rows; nothing where memory is the limit
// already or lda % 4 != 0; and a loss where rows are shorter than 128 floats, for lanes go idle.
// Next question: k = 32: how many of the 32 lanes work now? (8 have one float4 each, 24 none.)
#include "block_reduce.cuh"
#include "gemv.cuh"

__device__ static float dot4(float4 a, float4 x) { return (a.x * x.x + a.y * x.y) + (a.z * x.z + a.w * x.w); }

__global__ void gemv_float4(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                            const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  const float* a = A + row * lda;
  const float4* a4 = reinterpret_cast<const float4*>(a);
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const std::size_t k4 = aligned ? k / 4 : 0;
  float sum = 0.0f;
  for (std::size_t j = lane; j < k4; j += 32) sum += dot4(a4[j], x4[j]);
  for (std::size_t j = 4 * k4 + lane; j < k; j += 32) sum += a[j] * x[j];
  sum = warp_sum(sum);
  if (lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  constexpr int block = 256;
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  gemv_float4<<<static_cast<unsigned>(ceil_div(m, block / 32)), block>>>(m, k, alpha, A, lda, x, beta, y, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
