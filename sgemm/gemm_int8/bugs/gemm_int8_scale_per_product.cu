// bug: each product is scaled before it is added: the sum is FP32, and rounds k times instead of never
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemm_int8.cuh"

constexpr int kBlock = 256;

// One thread per result.
__global__ void gemm_int8_scale_per_product(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                                            const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                                            const float* __restrict__ column_scales, float* __restrict__ C) {
  const long long i = blockIdx.x * static_cast<long long>(kBlock) + threadIdx.x, row = i / N, col = i % N;
  if (row >= M) return;
  const std::int8_t *a = A + row * K, *b = B + col * K;
  float sum = 0;
  for (long long k = 0; k < K; ++k)
    sum += row_scales[row] * static_cast<float>(a[k]) * (column_scales[col] * static_cast<float>(b[k]));
  C[i] = sum;
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  gemm_int8_scale_per_product<<<static_cast<unsigned>(ceil_div(M * N, std::size_t{kBlock})), kBlock>>>(
      M, N, K, A, B, row_scales, column_scales, C);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
