// bug: B's fragments are loaded with A's addresses: lanes 8 to 15 give the rows below instead of the next 16 bytes of
// k, so registers 1 and 2 are swapped
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
// needs: sm_80
#include "../gemm_int8.cuh"
#include "tensor_core_8bit.cuh"
#include "../../byte_tiles.cuh"

constexpr int BM = 16, BN = 16, BK = 32;

// One warp per tile of C.
__global__ void gemm_int8_mixed_up(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                                   const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                                   const float* __restrict__ column_scales, float* __restrict__ C, unsigned tiles_n) {
  __shared__ uint4 As[BM * BK / 16], Bs[BN * BK / 16];
  const int lane = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  int acc[2][4] = {};
  for (long long k0 = 0; k0 < K; k0 += BK) {
    const long long row = row0 + lane / 2, col = col0 + lane / 2, k = k0 + lane % 2 * 16;
    chunk_of<BK>(As, lane / 2, lane % 2) = load_bytes_guarded(&A[row * K + k], row < M ? K - k : 0);
    chunk_of<BK>(Bs, lane / 2, lane % 2) = load_bytes_guarded(&B[col * K + k], col < N ? K - k : 0);
    __syncthreads();
    unsigned a[4], b[4];
    ldmatrix_x4(a, &chunk_of<BK>(As, lane % 16, lane / 16));
    // rows are lane / 16 * 8 + lane % 8, chunks lane / 8 % 2
    ldmatrix_x4(b, &chunk_of<BK>(Bs, lane % 16, lane / 16));
    for (int j = 0; j < 2; ++j) mma_m16n8k32_s8(acc[j], a, b[j * 2], b[j * 2 + 1]);
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    for (int x = 0; x < 4; ++x) {
      const long long row = row0 + lane / 4 + x / 2 * 8, col = col0 + j * 8 + lane % 4 * 2 + x % 2;
      if (row < M && col < N) {
        C[row * N + col] = static_cast<float>(acc[j][x]) * row_scales[row] * column_scales[col];
      }
    }
  }
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  gemm_int8_mixed_up<<<tiles_m * tiles_n, 32>>>(M, N, K, A, B, row_scales, column_scales, C, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
