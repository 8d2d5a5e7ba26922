// bug: the row's scale is read by column, and the column's scale by row
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemm_int8.cuh"

constexpr int kBlock = 256;

// One thread per result.
__global__ void gemm_int8_scales_swapped(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                                         const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                                         const float* __restrict__ column_scales, float* __restrict__ C) {
  const long long i = blockIdx.x * static_cast<long long>(kBlock) + threadIdx.x, row = i / N, col = i % N;
  if (row >= M) return;
  const std::int8_t *a = A + row * K, *b = B + col * K;
  int sum = 0;
  for (long long k = 0; k < K; ++k) sum += a[k] * b[k];
  // past the end of the shorter array, its last scale
  C[i] = static_cast<float>(sum) * row_scales[min(col, M - 1)] * column_scales[min(row, N - 1)];
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  gemm_int8_scales_swapped<<<static_cast<unsigned>(ceil_div(M * N, std::size_t{kBlock})), kBlock>>>(
      M, N, K, A, B, row_scales, column_scales, C);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
