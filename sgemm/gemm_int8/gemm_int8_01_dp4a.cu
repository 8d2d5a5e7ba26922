// Problem:  int8 products added in FP32 cost a conversion per element, and sums above 2^24 are rounded.
// Idea:     __dp4a adds four products of a word's bytes to an int32. Tiles of 64 bytes of k; 16 bytes of A and of B
//           along k, 4 x 4 results per thread: 8 loads from shared memory feed 64 dp4a.
// Expect:   0.08 to 0.14x step 00 at 4096. 64 dp4a per clock and SM would be 119 TOP/s at 1.755 GHz, of which
//           a fifth to a half is lost: nothing overlaps the loads.
// Measured: 0.088x cuBLASLt at 4096 (H200).
// Next:     which instruction takes whole tiles of bytes? (mma.sync.m16n8k32)
#include "gemm_int8.cuh"
#include "../byte_tiles.cuh"

constexpr int BM = 64, BN = 64, BK = 64;
constexpr int kThreads = 256;  // 16 x 16; each has every 16th row and column of the tile

__device__ static int dot16(uint4 a, uint4 b, int sum) {
  const auto dp4a = [](unsigned x, unsigned y, int z) { return __dp4a(static_cast<int>(x), static_cast<int>(y), z); };
  return dp4a(a.w, b.w, dp4a(a.z, b.z, dp4a(a.y, b.y, dp4a(a.x, b.x, sum))));
}

// kAligned: the rows of A and B are 16-byte aligned, and k is a multiple of 16.
template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm_int8_dp4a(long long M, long long N, long long K, const std::int8_t* __restrict__ A,
                   const std::int8_t* __restrict__ B, const float* __restrict__ row_scales,
                   const float* __restrict__ column_scales, float* __restrict__ C, unsigned tiles_n) {
  __shared__ uint4 As[BM * BK / 16], Bs[BN * BK / 16];
  const int tid = threadIdx.x, tx = tid % 16, ty = tid / 16, load_row = tid / 4, load_chunk = tid % 4;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM;
  const long long col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const auto load = [](const std::int8_t* p, long long left) {
    if (kAligned) return left > 0 ? *reinterpret_cast<const uint4*>(p) : make_uint4(0, 0, 0, 0);
    return load_bytes_guarded(p, left);
  };

  int sum[4][4] = {};
  for (long long k0 = 0; k0 < K; k0 += BK) {
    // load: a chunk of A and a chunk of B per thread, zeros past the edges
    const long long row = row0 + load_row, col = col0 + load_row, k = k0 + load_chunk * 16;
    chunk_of<BK>(As, load_row, load_chunk) = load(&A[row * K + k], row < M ? K - k : 0);
    chunk_of<BK>(Bs, load_row, load_chunk) = load(&B[col * K + k], col < N ? K - k : 0);
    __syncthreads();
    // multiply
#pragma unroll
    for (int c = 0; c < BK / 16; ++c) {
      uint4 a[4], b[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        a[i] = chunk_of<BK>(As, ty + 16 * i, c);
        b[i] = chunk_of<BK>(Bs, tx + 16 * i, c);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = dot16(a[i], b[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  // store: scales are applied once per result
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long row = row0 + ty + 16 * i, col = col0 + tx + 16 * j;
      if (row < M && col < N) {
        C[row * N + col] = static_cast<float>(sum[i][j]) * row_scales[row] * column_scales[col];
      }
    }
  }
}

static void launch(const std::int8_t* A, const std::int8_t* B, const float* row_scales, const float* column_scales,
                   float* C, std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const auto kernel = aligned_for<uint4>(A, B) && K % 16 == 0 ? gemm_int8_dp4a<true> : gemm_int8_dp4a<false>;
  kernel<<<tiles_m * tiles_n, kThreads>>>(M, N, K, A, B, row_scales, column_scales, C, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemmInt8, launch);
