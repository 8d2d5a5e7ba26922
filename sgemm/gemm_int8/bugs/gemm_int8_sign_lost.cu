// bug: the words are unsigned, so __dp4a takes the bytes as 0 to 255: -1 is 255
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gemm_int8.cuh"

constexpr int kBlock = 256;

// Returns four bytes along k as a word, with zeros past the end.
__device__ static unsigned word(const std::int8_t* row, long long k, long long K) {
  unsigned bytes = 0;
  for (int i = 0; i < 4 && k + i < K; ++i)
    bytes |= static_cast<unsigned>(static_cast<std::uint8_t>(row[k + i])) << 8 * i;
  return bytes;
}

// One thread per result.
__global__ void gemm_int8_sign_lost(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                                    const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                                    const float* __restrict__ column_scales, float* __restrict__ C) {
  const long long i = blockIdx.x * static_cast<long long>(kBlock) + threadIdx.x, row = i / N, col = i % N;
  if (row >= M) return;
  const std::int8_t *a = A + row * K, *b = B + col * K;
  unsigned sum = 0;
  for (long long k = 0; k < K; k += 4) sum = __dp4a(word(a, k, K), word(b, k, K), sum);
  C[i] = static_cast<float>(static_cast<int>(sum)) * row_scales[row] * column_scales[col];
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  gemm_int8_sign_lost<<<static_cast<unsigned>(ceil_div(M * N, std::size_t{kBlock})), kBlock>>>(
      M, N, K, A, B, row_scales, column_scales, C);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
