// A tile of C of any shape by mma.sync, for BF16 and for FP32 read as TF32. Both have 32 bytes of a row of A per mma,
// so that only how B is read differs.
#pragma once
#include "gemm.cuh"
#include "store_sums.cuh"
#include "tensor_core.cuh"
#include "tile_order.cuh"

#include <cuda_bf16.h>
#include <cuda_pipeline.h>

#include <type_traits>

constexpr int kRowBytes = 128;  // of a tile of A

// One of the matrices that tiles are copied from.
template <typename T>
struct TileSource {
  const T* data;
  long long ld;
};

// The instruction. kDepth: k of one mma.
template <typename T>
struct Mma;

template <>
struct Mma<__nv_bfloat16> {
  static constexpr int kDepth = 16;
  __device__ static void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    mma_m16n8k16_bf16(d, a, b0, b1);
  }
};

template <>
struct Mma<float> {
  static constexpr int kDepth = 8;
  __device__ static void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    mma_m16n8k8_tf32(d, a, b0, b1);
  }
};

// Tiles of matrices whose rows begin, and which end, at multiples of 16 bytes: A's of kRowBytes bytes a row, B's of BN
// elements. They consist of chunks of 16 bytes, kPitch of them from row to row.
template <typename T, int BN>
class AlignedTiles {
 public:
  struct A {
    static constexpr bool kSkewed = false;
    static constexpr int kPitch = kRowBytes / 16;
    // XOR with the row: the 8 rows that ldmatrix reads at once lie in different banks.
    __device__ static int place(int row, int chunk) { return row * kPitch + (chunk ^ row % 8); }
  };
  // In FP32 a warp reads 8 neighbours of 4 rows at once: rows begin 8 banks apart. In BF16 ldmatrix reads a chunk of 8
  // rows: XOR with the number of the 128-byte line.
  struct B {
    static constexpr bool kSkewed = false;
    static constexpr int kPitch = BN * sizeof(T) / 16 + (sizeof(T) == 4 ? 2 : 0);
    __device__ static int place(int row, int chunk) {
      constexpr int lines = kPitch < 8 ? kPitch : 8, rows_per_line = 8 / lines;
      return row * kPitch + (sizeof(T) == 4 ? chunk : chunk ^ row / rows_per_line % lines);
    }
  };

  __device__ AlignedTiles(const TileSource<T>&, const TileSource<T>&, int lane) : lane_(lane) {}

  // The operand of 16 rows from `row` on, at k.
  __device__ void read_a(unsigned (&a)[4], const uint4* tile, int row, int k) const {
    ldmatrix_x4(a, &tile[A::place(row + lane_ % 16, k * static_cast<int>(sizeof(T)) / 16 + lane_ / 16)]);
  }
  // The operands of 16 columns from `col` on, at k.
  __device__ void read_b(unsigned (&b)[4], const uint4* tile, int k, int col) const {
    if constexpr (sizeof(T) == 2) {
      ldmatrix_x4_trans(b, &tile[B::place(k + lane_ % 16, col / 8 + lane_ / 16)]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = k + lane_ % 4 + i % 2 * 4, column = col + i / 2 * 8 + lane_ / 4;
        b[i] = reinterpret_cast<const unsigned*>(&tile[B::place(row, 0)])[column];
      }
    }
  }

 private:
  int lane_;
};

// Tiles whose rows begin anywhere: in shared memory as far behind a multiple of 16 bytes as in memory, so that cp.async
// can copy 16 bytes at a time. That is their skew; it is the same 8 rows further, as 8 elements are 16 bytes or 32.
template <typename T, int BN>
class SkewedTiles {
  static constexpr int kSize = sizeof(T);

 public:
  struct A {
    static constexpr bool kSkewed = true;
    static constexpr int kPitch = kRowBytes / 16 + 1;
    __device__ static int place(int row, int chunk) { return row * kPitch + chunk; }
  };
  struct B {
    // Rows that are read at once should begin 8 banks apart: in BF16 every other row is, in FP32 every row.
    static constexpr bool kSkewed = true;
    static constexpr int kPitch = BN * kSize / 16 + kSize / 2;
    __device__ static int place(int row, int chunk) { return row * kPitch + chunk; }
  };

  __device__ SkewedTiles(const TileSource<T>& a, const TileSource<T>& b, int lane)
      : row_(lane / 4), step_(lane % 4), skew_a_(skew(a, row_)) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) skew_b_[i] = skew(b, kRows * step_ + i);
  }

  // As in AlignedTiles. A lane's elements of A are a word of shared memory, in BF16 with an odd skew halves of two.
  __device__ void read_a(unsigned (&a)[4], const uint4* tile, int row, int k) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const char* from = bytes(tile, A::place(row + row_ + i % 2 * 8, 0)) + skew_a_ / 4 * 4;
      const auto* words = reinterpret_cast<const unsigned*>(from + k * kSize + i / 2 * 16) + step_;
      a[i] = kSize == 4 ? words[0] : __funnelshift_r(words[0], words[1], skew_a_ % 4 * 8);
    }
  }
  // A lane's elements of B are in one column: in FP32 a row's, in BF16 those of two rows.
  __device__ void read_b(unsigned (&b)[4], const uint4* tile, int k, int col) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = k + kRows * step_ + i % 2 * (Mma<T>::kDepth / 2), column = col + i / 2 * 8 + row_;
      const auto element = [&](int r) { return bytes(tile, B::place(row + r, 0)) + skew_b_[r] + column * kSize; };
      if constexpr (kSize == 4) {
        b[i] = *reinterpret_cast<const unsigned*>(element(0));
      } else {
        b[i] = __byte_perm(*reinterpret_cast<const unsigned short*>(element(0)),
                           *reinterpret_cast<const unsigned short*>(element(1)), 0x5410);
      }
    }
  }

 private:
  static constexpr int kRows = 4 / kSize;  // of B in a register

  __device__ static int skew(const TileSource<T>& source, int row) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(source.data + row * source.ld) % 16);
  }
  __device__ static const char* bytes(const uint4* tile, int place) {
    return reinterpret_cast<const char*>(tile + place);
  }

  int row_, step_, skew_a_, skew_b_[kRows];
};

// Copies a tile of kRows x kCols elements, which begins at row0 and col0, by cp.async; zeros from `rows` and `cols` on.
// Of 16 bytes that a row begins in those before it are read as well, and not used: they are in the same allocation, as
// allocations begin and end at multiples of 16 bytes. may_end: may `end`, the matrix's, be in the tile or less than 16
// bytes behind it?
template <typename Layout, int kRows, int kCols, int kThreads, typename T>
__device__ inline void copy_tile(uint4* to, const TileSource<T>& source, long long row0, long long rows, long long col0,
                                 long long cols, const T* end, bool may_end) {
  constexpr int kSize = sizeof(T), kCount = 16 / kSize, kAcross = kCols / kCount, kRowsAtOnce = kThreads / kAcross;
  static_assert(kThreads % kAcross == 0 && kRows <= kThreads, "whole rows at a time");
  const int tid = threadIdx.x;
  const int down = static_cast<int>(min(rows - row0, static_cast<long long>(kRows)));
  const int width = static_cast<int>(min(cols - col0, static_cast<long long>(kCols))) * kSize;  // in bytes
  const T* const corner = source.data + row0 * source.ld + col0;
  const auto address = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const auto skew_of = [&](const T* p) { return Layout::kSkewed ? static_cast<int>(address(p) % 16) : 0; };
  const auto bytes_of = [&](int row, int chunk, int skew) {
    return row < down ? min(max(skew + width - 16 * chunk, 0), 16) : 0;
  };

  // The 16 bytes that pass the matrix's end are loaded one by one: cp.async would read no more than it is told, but
  // compute-sanitizer's memcheck counts all 16.
  if constexpr (Layout::kSkewed) {
    const auto passes = [&](const T* p, int bytes) { return (address(p) + bytes + 15) / 16 * 16 > address(end); };
    if (may_end && passes(corner + (down - 1) * source.ld, width)) {
#pragma unroll 1
      for (int i = tid; i < kRows * (kAcross + 1); i += kThreads) {
        const int row = i / (kAcross + 1), chunk = i % (kAcross + 1);
        const T* const begin = corner + row * source.ld;
        const int skew = skew_of(begin), bytes = bytes_of(row, chunk, skew), before = chunk == 0 ? skew : 0;
        const T* const from = begin - skew / kSize + chunk * kCount;
        uint4* const place = &to[Layout::place(row, chunk)];
        if (bytes == 0 || !passes(from, bytes)) {
          cp_async_16(place, from, bytes);
        } else {
#pragma unroll
          for (int e = 0; e < kCount; ++e) {
            reinterpret_cast<T*>(place)[e] = e * kSize >= before && e * kSize < bytes ? from[e] : T(0.0f);
          }
        }
      }
      return;
    }
  }

  // `from`: where the row's chunk begins if it has no skew, which moves the chunk to the left.
  const auto copy = [&](int row, int chunk, const T* from) {
    const int skew = skew_of(from);
    cp_async_16(&to[Layout::place(row, chunk)], from - skew / kSize, bytes_of(row, chunk, skew));
  };
  const int row = tid / kAcross, chunk = tid % kAcross;
  const T* from = corner + row * source.ld + chunk * kCount;
  if (kRows * kAcross % kThreads == 0 || tid < kRows * kAcross) {
#pragma unroll
    for (int r = 0; r < kRows; r += kRowsAtOnce) {
      copy(row + r, chunk, from);
      from += kRowsAtOnce * source.ld;
    }
  }
  if (Layout::kSkewed && tid < kRows) copy(tid, kAcross, corner + tid * source.ld + kCols);
}

// The bytes of a stage: a tile of A, of BM rows, and one of B.
template <typename T, typename Tiles, int BM>
constexpr int kStageBytes = 16 * (BM * Tiles::A::kPitch + kRowBytes / static_cast<int>(sizeof(T)) * Tiles::B::kPitch);

// C = alpha A B + beta C in tiles of BM x BN, one per block, of kWarpsM x kWarpsN warps; k in slices, gridDim.y of
// them, each `slice` long. With one slice the results go to C, else the sums to partials[(slice * M + row) * N +
// column]. kStages - 1 tiles are in flight. wide_c: rows of C are 16-byte aligned.
template <typename T, template <typename, int> class TilesOf, int BM, int BN, int kWarpsM, int kWarpsN, int kStages>
__global__ void __launch_bounds__(kWarpsM* kWarpsN * 32, BM* BN > 64 * 64 ? 2 : 3)
    gemm_mma_tile(long long M, long long N, long long K, float alpha, const TileSource<T> A, const TileSource<T> B,
                  float beta, T* __restrict__ C, long long ldc, bool wide_c, unsigned tiles_m, unsigned tiles_n,
                  long long slice, float* __restrict__ partials) {
  using Tiles = TilesOf<T, BN>;
  constexpr int kCount = 16 / sizeof(T), BK = kRowBytes / sizeof(T), kThreads = kWarpsM * kWarpsN * 32;
  constexpr int WM = BM / kWarpsM, WN = BN / kWarpsN, kDepth = Mma<T>::kDepth;
  constexpr int kStage = kStageBytes<T, Tiles, BM> / 16;  // in chunks
  static_assert(WM % 16 == 0 && WN % 16 == 0, "whole fragments");
  extern __shared__ uint4 smem[];  // for each stage a tile of A and one of B
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_of_block(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;
  const long long begin = blockIdx.y * slice, end = min(begin + slice, K);
  const int tiles = static_cast<int>((max(end - begin, 0LL) + BK - 1) / BK);
  const Tiles operands(A, B, lane);
  const auto stage = [&](int t) { return smem + t % kStages * kStage; };

  const auto copy = [&](int t) {
    if (t < tiles) {
      const long long k0 = begin + static_cast<long long>(t) * BK;
      const bool may_end = t + 2 >= tiles;
      copy_tile<typename Tiles::A, BM, BK, kThreads>(stage(t), A, row0, M, k0, end, A.data + (M - 1) * A.ld + K,
                                                     may_end);
      copy_tile<typename Tiles::B, BK, BN, kThreads>(stage(t) + BM * Tiles::A::kPitch, B, k0, end, col0, N,
                                                     B.data + (K - 1) * B.ld + N, may_end);
    }
    __pipeline_commit();
  };

  float acc[WM / 16][WN / 8][4] = {};
#pragma unroll
  for (int t = 0; t < kStages - 1; ++t) copy(t);
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // tile t has arrived, and all threads have used tile t - 1
    copy(t + kStages - 1);
    const uint4 *As = stage(t), *Bs = As + BM * Tiles::A::kPitch;
    const auto depth = static_cast<int>(min(end - begin - static_cast<long long>(t) * BK, static_cast<long long>(BK)));
#pragma unroll
    for (int k = 0; k < BK; k += kDepth) {
      if (k >= depth) break;  // zeros from here on
      unsigned a[WM / 16][4], b[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) operands.read_a(a[i], As, warp_row + i * 16, k);
#pragma unroll
      for (int j = 0; j < WN / 16; ++j) operands.read_b(b[j], Bs, k, warp_col + j * 16);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
          Mma<T>::multiply(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
  __pipeline_wait_prior(0);
  __syncthreads();  // the stages are free

  // Sums leave by shared memory, 16 rows of a warp at a time.
  static_assert(kThreads / 32 * 16 * kSumsPitch<WN> * 4 <= kStage * 16, "fits where the stages were");
  float* sums = reinterpret_cast<float*>(smem) + warp * 16 * kSumsPitch<WN>;
  const long long col = col0 + warp_col;
  const int cols = static_cast<int>(min(N - col, static_cast<long long>(WN)));
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    const long long row = row0 + warp_row + i * 16;
    const int rows = static_cast<int>(min(M - row, 16LL));
    __syncwarp();
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {  // a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
      float* to = &sums[lane / 4 * kSumsPitch<WN> + j * 8 + lane % 4 * 2];
      reinterpret_cast<float2&>(*to) = make_float2(acc[i][j][0], acc[i][j][1]);
      reinterpret_cast<float2&>(to[8 * kSumsPitch<WN>]) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
    __syncwarp();
    if (gridDim.y > 1) {
      store_sums<WN, 1>(sums, &partials[(blockIdx.y * M + row) * N + col], N, rows, cols, 1.0f, 0.0f);
    } else if (wide_c) {
      store_sums<WN, kCount>(sums, &C[row * ldc + col], ldc, rows, cols, alpha, beta);
    } else {
      store_sums<WN, 1>(sums, &C[row * ldc + col], ldc, rows, cols, alpha, beta);
    }
  }
}
