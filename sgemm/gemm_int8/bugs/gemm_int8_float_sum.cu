// bug: the int32 sum of 64 products is added to an FP32 sum, which keeps 24 bits: beyond 2^24 each addition rounds
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemm_int8.cuh"

constexpr int kBlock = 256;

// One thread per result.
__global__ void gemm_int8_float_sum(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                                    const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                                    const float* __restrict__ column_scales, float* __restrict__ C) {
  const long long i = blockIdx.x * static_cast<long long>(kBlock) + threadIdx.x, row = i / N, col = i % N;
  if (row >= M) return;
  const std::int8_t *a = A + row * K, *b = B + col * K;
  float sum = 0;
  for (long long first = 0; first < K; first += 64) {
    int part = 0;
    for (long long k = first; k < K && k < first + 64; ++k) part += a[k] * b[k];
    sum += static_cast<float>(part);
  }
  C[i] = sum * row_scales[row] * column_scales[col];
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  gemm_int8_float_sum<<<static_cast<unsigned>(ceil_div(M * N, std::size_t{kBlock})), kBlock>>>(
      M, N, K, A, B, row_scales, column_scales, C);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
