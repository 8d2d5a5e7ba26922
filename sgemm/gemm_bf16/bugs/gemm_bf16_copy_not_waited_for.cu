// bug: a barrier, but no wait for the group of copies: the tile of A may not have arrived when it is read
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between | --m=16 --n=16 --k=64
// caught by: gpu racecheck | hazard | --m=16 --n=16 --k=64
// stage: right
// needs: sm_80
#include "../gemm_bf16.cuh"
#include "bf16_chunks.cuh"
#include "tensor_core.cuh"
#include "../../tile_of_c.cuh"

constexpr int BM = 16, BN = 16, BK = 32;

// One warp per tile of C.
__global__ void gemm_bf16_without_wait(long long M, long long N, long long K, float alpha,
                                       const __nv_bfloat16* __restrict__ A, long long lda,
                                       const __nv_bfloat16* __restrict__ B, long long ldb, float beta,
                                       __nv_bfloat16* __restrict__ C, long long ldc, unsigned tiles_n, bool aligned) {
  __shared__ __align__(16) __nv_bfloat16 As[BM * BK], Bs[BK * BN];
  const int lane = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  float acc[2][4] = {};
  for (long long k0 = 0; k0 < K; k0 += BK) {
    for (int i = lane; i < BM * BK / 8; i += 32) {
      const long long row = row0 + i / 4, k = k0 + i % 4 * 8, left = row < M ? K - k : 0;
      __nv_bfloat16& to = As[swizzled<BK>(i / 4, i % 4)];
      if (aligned && left >= 8) {
        cp_async_16(&to, &A[row * lda + k], 16);
      } else {
        reinterpret_cast<uint4&>(to) = load_chunk_guarded(&A[row * lda + k], left);
      }
    }
    for (int i = lane; i < BK * BN / 8; i += 32) {
      const long long k = k0 + i / 2, col = col0 + i % 2 * 8;
      reinterpret_cast<uint4&>(Bs[swizzled<BN>(i / 2, i % 2)]) =
          load_chunk_guarded(&B[k * ldb + col], k < K ? N - col : 0);
    }
    cp_async_commit();
    // cp_async_wait<0>() is needed here
    __syncthreads();
    for (int k = 0; k < BK; k += 16) {
      unsigned a[4], b[4];
      ldmatrix_x4(a, &As[swizzled<BK>(lane % 16, k / 8 + lane / 16)]);
      ldmatrix_x4_trans(b, &Bs[swizzled<BN>(k + lane % 16, lane / 16)]);
      for (int j = 0; j < 2; ++j) mma_m16n8k16_bf16(acc[j], a, b[j * 2], b[j * 2 + 1]);
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    const long long row = row0 + lane / 4, col = col0 + j * 8 + lane % 4 * 2;
    for (int i = 0; i < 2; ++i) {
      if (row + 8 * i >= M || col >= N) continue;
      store_pair(&C[(row + 8 * i) * ldc + col], alpha * acc[j][2 * i], alpha * acc[j][2 * i + 1], beta, col + 1 < N,
                 false);
    }
  }
}

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const __nv_bfloat16* A, std::size_t lda,
                   const __nv_bfloat16* B, std::size_t ldb, float beta, __nv_bfloat16* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  gemm_bf16_without_wait<<<tiles_m * tiles_n, 32>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n,
                                                    aligned_for<uint4>(A) && lda % 8 == 0);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmBf16, launch);
