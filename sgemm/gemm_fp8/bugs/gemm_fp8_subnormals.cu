// bug: subnormals get a leading 1, too, so 0 becomes 2^-7
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemm_fp8.cuh"

// Sets the float's own fields: exponent + 127 - 7, and the mantissa.
__device__ static float decode(unsigned bits) {
  const unsigned magnitude = bits & 0x7f, sign = (bits & 0x80) << 24;
  if (magnitude == 0x7f) return __uint_as_float(0x7fc00000);
  return __uint_as_float(sign | ((magnitude >> 3) + 120) << 23 | (magnitude & 7) << 20);
}

constexpr int kThreads = 256;

// One thread per result.
__global__ void gemm_fp8_subnormals(long long M, long long N, long long K, const std::uint8_t* __restrict__ A,
                                    const std::uint8_t* __restrict__ B, const float* __restrict__ a_scales,
                                    const float* __restrict__ b_scales, float* __restrict__ C) {
  const long long at = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x, row = at / N, col = at % N;
  if (row >= M) return;
  const std::uint8_t *a = A + row * K, *b = B + col * K;
  float sum = 0;
  for (long long k = 0; k < K; ++k) sum += decode(a[k]) * decode(b[k]);
  C[at] = sum * (a_scales[0] * b_scales[0]);
}

static void launch(const std::uint8_t* A, const std::uint8_t* B, const float* a_scales, const float* b_scales, float* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  gemm_fp8_subnormals<<<static_cast<unsigned>(ceil_div(M * N, std::size_t{kThreads})), kThreads>>>(
      M, N, K, A, B, a_scales, b_scales, C);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmFp8, launch);
