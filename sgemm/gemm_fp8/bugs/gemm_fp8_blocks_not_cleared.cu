// bug: a block's sum isn't cleared when it's promoted, so it's added again with the next block's scales
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemm_fp8_blocks.cuh"

constexpr int kThreads = 256;

// One thread per result.
__global__ void gemm_fp8_blocks_not_cleared(long long M, long long N, long long K, const std::uint8_t* __restrict__ A,
                                            const std::uint8_t* __restrict__ B, const float* __restrict__ a_scales,
                                            const float* __restrict__ b_scales, float* __restrict__ C) {
  const long long at = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x, row = at / N, col = at % N;
  if (row >= M) return;
  const std::uint8_t *a = A + row * K, *b = B + col * K;
  const long long blocks = (K + 127) / 128;
  float total = 0, sum = 0;
  for (long long k = 0; k < K; ++k) {
    sum += from_e4m3(a[k]) * from_e4m3(b[k]);
    if (k % 128 != 127 && k + 1 < K) continue;
    total += sum * (a_scales[row * blocks + k / 128] * b_scales[col / 128 * blocks + k / 128]);
  }
  C[at] = total;
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  gemm_fp8_blocks_not_cleared<<<static_cast<unsigned>(ceil_div(M * N, std::size_t{kThreads})), kThreads>>>(
      M, N, K, A, B, a_scales, b_scales, C);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmFp8Blocks, launch);
