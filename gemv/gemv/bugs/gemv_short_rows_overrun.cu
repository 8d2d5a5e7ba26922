// bug: 8 lanes share a row, and each loads a float4 even if the row is shorter: at k = 20 three load past its end
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | heap-buffer-overflow
// caught by: cpu-trace | reaches outside the allocation | --m=67 --k=20
// caught by: gpu | is wrong
// caught by: gpu memcheck | Invalid __global__ read | --m=67 --k=20
// stage: right
#include "../gemv.cuh"
#include "../../float4.cuh"

constexpr unsigned kLanes = 8;

__global__ void gemv_short_rows_overrun(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A,
                                        std::size_t lda, const float* __restrict__ x, float beta, float* __restrict__ y,
                                        bool aligned) {
  const unsigned lane = threadIdx.x % kLanes;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  float sum = 0.0f;
  if (row < m && aligned && k <= 4 * kLanes && k % 4 == 0) {
    const float4* a4 = reinterpret_cast<const float4*>(A + row * lda);
    sum = dot4(a4[lane], reinterpret_cast<const float4*>(x)[lane]);  // missing: if (lane < k / 4)
  } else if (row < m) {
    for (std::size_t j = lane; j < k; j += kLanes) sum += A[row * lda + j] * x[j];
  }
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (row < m && lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;
  constexpr int block = 256;
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0 && k > 0;
  const auto grid = static_cast<unsigned>(ceil_div(m, block / kLanes));
  gemv_short_rows_overrun<<<grid, block>>>(m, k, alpha, A, lda, x, beta, y, aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
