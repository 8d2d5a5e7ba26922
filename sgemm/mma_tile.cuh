// Tiles of C by mma.sync, in BF16 or TF32, for any shape and any alignment of A and B.
#pragma once
#include "products_without_tiles.cuh"
#include "tensor_core.cuh"
#include "tile_of_c.cuh"

#include <cuda_bf16.h>

constexpr int kRowBytes = 128;  // of a row of A's tile: BK elements

__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16) {
  mma_m16n8k16_bf16(d, a, b0, b1);
}
__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, float) {
  mma_m16n8k8_tf32(d, a, b0, b1);
}

// Tiles consist of 16-byte chunks. One chunk of padding per row puts the 8 rows that ldmatrix reads at once in
// different banks; in FP32 B has two, which put 4 rows 8 banks apart. Rows that may start anywhere (kSkewed) keep their
// skew, the distance from the last multiple of 16 bytes, so that cp.async copies 16 bytes. It repeats every 8 rows.
template <typename T, int BN, bool kSkewed>
class Operands {
  static constexpr int kSize = sizeof(T), kRows = 4 / kSize;  // of B in a register

 public:
  static constexpr int kPitchA = kRowBytes / 16 + 1, kPitchB = BN * kSize / 16 + kSize / 2;

  __device__ Operands(const T* A, long long lda, const T* B, long long ldb, int lane)
      : lane_(lane), skew_a_(skew(A + lane / 4 * lda)) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) skew_b_[i] = skew(B + (kRows * (lane % 4) + i) * ldb);
  }

  // Loads the fragment of rows `row` to row + 15 at k. With an odd skew, a register is halves of two words of the tile.
  __device__ void read_a(unsigned (&a)[4], const uint4* tile, int row, int k) const {
    if constexpr (!kSkewed) {
      ldmatrix_x4(a, &tile[(row + lane_ % 16) * kPitchA + k * kSize / 16 + lane_ / 16]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const char* from = bytes(tile + (row + lane_ / 4 + i % 2 * 8) * kPitchA) + skew_a_ / 4 * 4;
        const auto* words = reinterpret_cast<const unsigned*>(from + k * kSize + i / 2 * 16) + lane_ % 4;
        a[i] = kSize == 4 ? words[0] : __funnelshift_r(words[0], words[1], skew_a_ % 4 * 8);
      }
    }
  }
  // Loads the fragments of columns `col` to col + 15 at k. A register has one column: one row in FP32, two in BF16.
  __device__ void read_b(unsigned (&b)[4], const uint4* tile, int k, int col) const {
    if constexpr (!kSkewed && kSize == 2) {
      ldmatrix_x4_trans(b, &tile[(k + lane_ % 16) * kPitchB + col / 8 + lane_ / 16]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = k + kRows * (lane_ % 4) + i % 2 * 4 * kRows, column = col + i / 2 * 8 + lane_ / 4;
        const auto element = [&](int r) { return bytes(tile + (row + r) * kPitchB) + skew_b_[r] + column * kSize; };
        if constexpr (kSize == 4) {
          b[i] = *reinterpret_cast<const unsigned*>(element(0));
        } else {
          b[i] = __byte_perm(*reinterpret_cast<const unsigned short*>(element(0)),
                             *reinterpret_cast<const unsigned short*>(element(1)), 0x5410);
        }
      }
    }
  }

 private:
  __device__ static int skew(const T* row) {
    return kSkewed ? static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16) : 0;
  }
  __device__ static const char* bytes(const uint4* chunk) { return reinterpret_cast<const char*>(chunk); }

  int lane_, skew_a_, skew_b_[kRows];
};

// Copies the kRows x kCols elements at (row0, col0) of `matrix` by cp.async, with zeros from `rows` and `cols` on. A
// row's first chunk may begin with elements before the row, of the same allocation. The chunk that crosses `end` is
// loaded element by element: cp.async would stop there, but memcheck counts all 16 bytes.
template <bool kSkewed, int kPitch, int kRows, int kCols, int kThreads, typename T>
__device__ inline void copy_tile(uint4* to, const T* matrix, long long ld, long long row0, long long rows,
                                 long long col0, long long cols, const T* end) {
  constexpr int kSize = sizeof(T), kCount = 16 / kSize, kAcross = kCols / kCount, kRowsAtOnce = kThreads / kAcross;
  static_assert(kThreads % kAcross == 0 && kRows <= kThreads, "whole rows at a time");
  const int down = static_cast<int>(min(rows - row0, static_cast<long long>(kRows)));
  const int width = static_cast<int>(min(cols - col0, static_cast<long long>(kCols))) * kSize;  // in bytes
  const auto address = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p); };
  // `from`: where the chunk would start with a skew of 0; the skew moves it to the left
  const auto copy = [&](int row, int chunk, const T* from) {
    const int skew = kSkewed ? static_cast<int>(address(from) % 16) : 0;
    const int bytes = row < down ? min(max(skew + width - 16 * chunk, 0), 16) : 0;
    uint4* const place = &to[row * kPitch + chunk];
    from -= skew / kSize;
    if (bytes == 0 || address(from) + 16 <= address(end)) return cp_async_16(place, from, bytes);
    const int before = chunk == 0 ? skew : 0;
#pragma unroll 1
    for (int e = 0; e < kCount; ++e) {
      reinterpret_cast<T*>(place)[e] = e * kSize >= before && e * kSize < bytes ? from[e] : T(0.0f);
    }
  };
  const int tid = threadIdx.x, row = tid / kAcross, chunk = tid % kAcross;
  const T* const corner = matrix + row0 * ld + col0;
  const T* from = corner + row * ld + chunk * kCount;
  if (kRows * kAcross % kThreads == 0 || tid < kRows * kAcross) {
#pragma unroll
    for (int r = 0; r < kRows; r += kRowsAtOnce) {
      copy(row + r, chunk, from);
      from += kRowsAtOnce * ld;
    }
  }
  if (kSkewed && tid < kRows) copy(tid, kAcross, corner + tid * ld + kCols);
}

// Computes C = alpha A B + beta C: a tile of BM x BN per block of kWarpsM x kWarpsN warps, k in gridDim.y slices of
// `slice`. One slice: results go to C, `aligned` to 16 bytes or not; more: to partials[(slice * M + row) * N + col].
template <typename T, bool kSkewed, int BM, int BN, int kWarpsM, int kWarpsN, int kStages>
__global__ void __launch_bounds__(kWarpsM* kWarpsN * 32, BM* BN > 64 * 64 ? 2 : 3)
    gemm_mma_tile(long long M, long long N, long long K, float alpha, const T* __restrict__ A, long long lda,
                  const T* __restrict__ B, long long ldb, float beta, T* __restrict__ C, long long ldc, bool aligned,
                  unsigned tiles_m, unsigned tiles_n, long long slice, float* __restrict__ partials) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using Read = Operands<T, BN, kSkewed>;
  constexpr int BK = kRowBytes / sizeof(T), kThreads = kWarpsM * kWarpsN * 32, kDepth = 32 / sizeof(T);
  constexpr int WM = BM / kWarpsM, WN = BN / kWarpsN, kStage = BM * Read::kPitchA + BK * Read::kPitchB;  // in chunks
  static_assert(WM % 16 == 0 && WN % 16 == 0, "whole fragments");
  extern __shared__ uint4 smem[];  // for each stage a tile of A and one of B
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_place(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;
  const long long begin = blockIdx.y * slice, end = min(begin + slice, K);
  const int tiles = static_cast<int>((max(end - begin, 0LL) + BK - 1) / BK);
  const Read operands(A, lda, B, ldb, lane);
  const auto stage = [&](int t) { return smem + t % kStages * kStage; };
  const auto copy = [&](int t) {
    if (t < tiles) {
      const long long k0 = begin + static_cast<long long>(t) * BK;
      copy_tile<kSkewed, Read::kPitchA, BM, BK, kThreads>(stage(t), A, lda, row0, M, k0, end, A + (M - 1) * lda + K);
      copy_tile<kSkewed, Read::kPitchB, BK, BN, kThreads>(stage(t) + BM * Read::kPitchA, B, ldb, k0, end, col0, N,
                                                          B + (K - 1) * ldb + N);
    }
    cp_async_commit();
  };

  float acc[WM / 16][WN / 8][4] = {};
#pragma unroll
  for (int t = 0; t < kStages - 1; ++t) copy(t);
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<kStages - 2>();
    __syncthreads();  // tile t has arrived, and all threads have used tile t - 1
    copy(t + kStages - 1);
    const uint4 *As = stage(t), *Bs = As + BM * Read::kPitchA;
    const auto depth = static_cast<int>(min(end - begin - static_cast<long long>(t) * BK, static_cast<long long>(BK)));
#pragma unroll
    for (int k = 0; k < BK; k += kDepth) {
      if (k >= depth) break;  // only zeros from here on
      unsigned a[WM / 16][4], b[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) operands.read_a(a[i], As, warp_row + i * 16, k);
#pragma unroll
      for (int j = 0; j < WN / 16; ++j) operands.read_b(b[j], Bs, k, warp_col + j * 16);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 8; ++j) mma(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1], T());
      }
    }
  }
  cp_async_wait<0>();
  __syncthreads();  // all threads have read the stages

  static_assert(kThreads / 32 * 16 * kSumsPitch<WN> * 4 <= kStage * 16, "sums fit where the first stage was");
  float* sums = reinterpret_cast<float*>(smem) + warp * 16 * kSumsPitch<WN>;
  const long long col = col0 + warp_col;
  const int cols = static_cast<int>(min(N - col, static_cast<long long>(WN)));
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    const long long row = row0 + warp_row + i * 16;
    const int rows = static_cast<int>(min(M - row, 16LL));
    if (gridDim.y > 1) {
      store_rows<WN, WN>(&acc[i][0][0], sums, &partials[(blockIdx.y * M + row) * N + col], N, rows, cols, 1, 0, false);
    } else {
      store_rows<WN, WN>(&acc[i][0][0], sums, &C[row * ldc + col], ldc, rows, cols, alpha, beta, aligned);
    }
  }
#endif
}

template <typename T>
bool rows_are_aligned(const T* data, std::size_t ld) {
  return (reinterpret_cast<std::uintptr_t>(data) | ld * sizeof(T)) % 16 == 0;
}

// As many stages as fit in 72 KB: three blocks per SM on sm_90, one on sm_86. Slices of 4 stages or more fill one wave.
template <int BM, int BN, int kWarpsM, int kWarpsN, bool kSkewed, typename T>
void launch_mma(const Product<T>& p) {
  using Read = Operands<T, BN, kSkewed>;
  constexpr int BK = kRowBytes / sizeof(T), kThreads = kWarpsM * kWarpsN * 32;
  constexpr int stage = 16 * (BM * Read::kPitchA + BK * Read::kPitchB), stages = std::clamp((72 << 10) / stage, 2, 6);
  const auto kernel = gemm_mma_tile<T, kSkewed, BM, BN, kWarpsM, kWarpsN, stages>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, stages * stage));
  const auto tiles_m = static_cast<unsigned>(ceil_div(p.M, BM)), tiles_n = static_cast<unsigned>(ceil_div(p.N, BN));
  const std::size_t fit = resident_blocks(kernel, kThreads, stages * stage) / (std::size_t{tiles_m} * tiles_n);
  const std::size_t wanted = std::clamp<std::size_t>(fit, 1, std::max<std::size_t>(p.K / (4 * BK), 1));
  const std::size_t slice = ceil_div(ceil_div(p.K, wanted), BK) * BK, slices = ceil_div(p.K, slice);
  const int used = static_cast<int>(std::min<std::size_t>(stages, slice / BK)) * stage;  // short k: more blocks fit
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * p.M * p.N) : nullptr;
  const dim3 grid(tiles_m * tiles_n, static_cast<unsigned>(slices));
  kernel<<<grid, kThreads, used>>>(p.M, p.N, p.K, p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C, p.ldc,
                                   rows_are_aligned(p.C, p.ldc), tiles_m, tiles_n, slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices > 1) add_slices(p, grid.y, partials);
}

// M, N, K and alpha must not be 0.
template <int BM, int BN, int kWarpsM, int kWarpsN, typename T>
void launch_mma(const Product<T>& p) {
  const bool aligned = rows_are_aligned(p.A, p.lda) && rows_are_aligned(p.B, p.ldb);
  aligned ? launch_mma<BM, BN, kWarpsM, kWarpsN, false>(p) : launch_mma<BM, BN, kWarpsM, kWarpsN, true>(p);
}
