// A tile of C of any shape by mma.sync, for BF16 and for FP32 read as TF32. Both have 32 bytes of a row of A per mma, so
// that only how B is read differs.
#pragma once
#include "gemm.cuh"
#include "tensor_core.cuh"
#include "tile_order.cuh"

#include <cuda_bf16.h>
#include <cuda_pipeline.h>

#include <type_traits>

constexpr int kRowBytes = 128;  // of a tile of A

// Tiles consist of chunks of 16 bytes. Where chunk `chunk` of a row of `kChunks` stands: XOR with the number of the
// 128-byte line puts what a warp reads at once into different banks.
template <int kChunks>
__device__ inline int chunk_place(int row, int chunk) {
  constexpr int rows_per_line = kChunks < 8 ? 8 / kChunks : 1;
  return row * kChunks + (chunk ^ row / rows_per_line % (kChunks < 8 ? kChunks : 8));
}

// How B's tile, BK rows of BN, is kept and read, and the instruction. kDepth: k of one mma.
template <typename T, int BN>
struct MmaOperands;

template <int BN>
struct MmaOperands<__nv_bfloat16, BN> {
  static constexpr int kDepth = 16;
  __device__ static int place(int row, int chunk) { return chunk_place<BN / 8>(row, chunk); }
  // The operands of 16 columns from `col` on, rows k to k + 15.
  __device__ static void read(unsigned (&b)[4], const uint4* tile, int k, int col, int lane) {
    ldmatrix_x4_trans(b, &tile[place(k + lane % 16, col / 8 + lane / 16)]);
  }
  __device__ static void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    mma_m16n8k16_bf16(d, a, b0, b1);
  }
};

template <int BN>
struct MmaOperands<float, BN> {
  static constexpr int kDepth = 8;
  // A request is for 8 columns, 2 chunks, of 4 rows.
  __device__ static int place(int row, int chunk) {
    constexpr int chunks = BN / 4, rows_per_line = chunks < 8 ? 8 / chunks : 1;
    return row * chunks + (chunk ^ 2 * (row / rows_per_line % (chunks < 8 ? chunks / 2 : 4)));
  }
  __device__ static void read(unsigned (&b)[4], const uint4* tile, int k, int col, int lane) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = k + lane % 4 + i % 2 * 4, column = col + i / 2 * 8 + lane / 4;
      b[i] = reinterpret_cast<const unsigned*>(&tile[place(row, column / 4)])[column % 4];
    }
  }
  __device__ static void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    mma_m16n8k8_tf32(d, a, b0, b1);
  }
};

// One of the matrices that tiles are copied from. `width`: bytes to which each row's begin is aligned, 16, 4 or 2.
template <typename T>
struct TileSource {
  const T *data, *end;
  long long ld;
  int width;
};

// 16 bytes that begin `skipped` bytes, an even number, after those of `low` do; `high` follows `low`.
__device__ inline uint4 shifted(const uint4& low, const uint4& high, unsigned skipped) {
  unsigned words[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (skipped & 8) {
#pragma unroll
    for (int i = 0; i < 6; ++i) words[i] = words[i + 2];
  }
  if (skipped & 4) {
#pragma unroll
    for (int i = 0; i < 5; ++i) words[i] = words[i + 1];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = __funnelshift_r(words[i], words[i + 1], skipped % 4 * 8);
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// The first `left` of 8 elements, and zeros.
__device__ inline uint4 first_elements(uint4 chunk, int left) {
  const auto word = [left](unsigned w, int first) {
    return left >= first + 2 ? w : left == first + 1 ? w & 0xffff : 0;
  };
  return make_uint4(word(chunk.x, 0), word(chunk.y, 2), word(chunk.z, 4), word(chunk.w, 6));
}

// A chunk of a tile: where it goes, and that it is the first `left` elements from element `at` on, then zeros.
struct Chunk {
  uint4* to;
  long long at;
  int left;
};

// By cp.async, all of the chunk at once or, where the alignment does not allow that, in parts of 4 bytes.
template <typename T>
__device__ inline void copy_chunk(const Chunk& chunk, const TileSource<T>& source) {
  constexpr int kCount = 16 / sizeof(T);
  const T* from = source.data + chunk.at;
  const int bytes = min(max(chunk.left, 0), kCount) * static_cast<int>(sizeof(T));
  if (source.width == 16) {
    __pipeline_memcpy_async(chunk.to, bytes > 0 ? from : source.data, 16, 16 - bytes);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int part = min(max(bytes - 4 * i, 0), 4);
    __pipeline_memcpy_async(reinterpret_cast<unsigned*>(chunk.to) + i, part > 0 ? from + i * kCount / 4 : source.data,
                            4, 4 - part);
  }
}

// A thread's chunks, number threadIdx.x, threadIdx.x + kThreads and so on of kChunks: chunk_of(i) is chunk i.
template <int kChunks, int kThreads, typename T, typename ChunkOf>
__device__ inline void copy_chunks(const TileSource<T>& source, const ChunkOf& chunk_of) {
#pragma unroll
  for (int i = threadIdx.x; i < kChunks; i += kThreads) copy_chunk(chunk_of(i), source);
}

// The same where rows begin at odd elements of BF16; cp.async does not copy 2 bytes. A chunk is shifted together from the
// two aligned 16 bytes it lies in, if both are inside the matrix, gaps between rows included. The loads of kBatch chunks
// are in flight at a time.
template <int kChunks, int kThreads, int kBatch, typename T, typename ChunkOf>
__device__ inline void load_chunks(const TileSource<T>& source, const ChunkOf& chunk_of) {
  constexpr int kCount = 16 / sizeof(T);
  const auto skipped = [](const T* p) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p) % 16); };
#pragma unroll 1
  for (int first = threadIdx.x; first < kChunks; first += kBatch * kThreads) {
    uint4 low[kBatch], high[kBatch];
    bool pair[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = first + b * kThreads;
      const Chunk chunk = chunk_of(i);
      const T* from = source.data + chunk.at;
      pair[b] = i < kChunks && chunk.left > 0 && chunk.at >= kCount && source.end - from >= 2 * kCount;
      const auto* aligned = reinterpret_cast<const uint4*>(from - skipped(from) / sizeof(T));
      if (pair[b]) low[b] = aligned[0], high[b] = aligned[1];
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int i = first + b * kThreads;
      if (i >= kChunks) break;
      const Chunk chunk = chunk_of(i);
      const T* from = source.data + chunk.at;
      if (pair[b]) {
        *chunk.to = first_elements(shifted(low[b], high[b], skipped(from)), chunk.left);
      } else {
        alignas(16) T elements[kCount];
#pragma unroll
        for (int e = 0; e < kCount; ++e) elements[e] = e < chunk.left ? from[e] : T(0.0f);
        *chunk.to = *reinterpret_cast<const uint4*>(elements);
      }
    }
  }
}

// C = alpha A B + beta C in tiles of BM x BN, one per block, of kWarpsM x kWarpsN warps; k in slices, gridDim.y of them,
// each `slice` long. With one slice the results go to C, else the sums to partials[(slice * M + row) * N + column].
// kStages - 1 tiles are in flight. kOdd: rows of A or B may begin at odd elements of BF16. wide_c: rows of C are 16-byte
// aligned.
template <typename T, int BM, int BN, int kWarpsM, int kWarpsN, int kStages, bool kOdd>
__global__ void __launch_bounds__(kWarpsM* kWarpsN * 32, 2)
    gemm_mma_tile(long long M, long long N, long long K, float alpha, const TileSource<T> A, const TileSource<T> B,
                  float beta, T* __restrict__ C, long long ldc, bool wide_c, unsigned tiles_m, unsigned tiles_n,
                  long long slice, float* __restrict__ partials) {
  using Operands = MmaOperands<T, BN>;
  constexpr int kCount = 16 / sizeof(T), BK = kRowBytes / sizeof(T), kThreads = kWarpsM * kWarpsN * 32;
  constexpr int WM = BM / kWarpsM, WN = BN / kWarpsN, kChunksA = BM * 8, kChunksB = BK * BN / kCount;
  constexpr int kBatch = BM * BN < 128 * 128 ? 4 : 2;  // the registers that the sums leave
  static_assert(WM % 16 == 0 && WN % 16 == 0, "whole fragments");
  extern __shared__ uint4 smem[];  // for each stage a tile of A and one of B
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int warp_row = warp / kWarpsN * WM, warp_col = warp % kWarpsN * WN;
  const Tile tile = tile_of_block(blockIdx.x, tiles_m, tiles_n);
  const long long row0 = static_cast<long long>(tile.row) * BM, col0 = static_cast<long long>(tile.col) * BN;
  const long long begin = blockIdx.y * slice, end = min(begin + slice, K);
  const int tiles = static_cast<int>((max(end - begin, 0LL) + BK - 1) / BK);
  const auto left = [](long long length) { return static_cast<int>(min(length, static_cast<long long>(kCount))); };

  const auto copy = [&](int t) {
    if (t < tiles) {
      uint4* to = smem + t % kStages * (kChunksA + kChunksB);
      const long long k0 = begin + static_cast<long long>(t) * BK;
      const auto chunk_of_a = [&](int i) -> Chunk {
        const int row = i / 8, chunk = i % 8;
        const long long k = k0 + chunk * kCount;
        return {&to[chunk_place<8>(row, chunk)], (row0 + row) * A.ld + k, row0 + row < M ? left(end - k) : 0};
      };
      const auto chunk_of_b = [&](int i) -> Chunk {
        const int row = i / (BN / kCount), chunk = i % (BN / kCount);
        const long long col = col0 + chunk * kCount;
        return {&to[kChunksA + Operands::place(row, chunk)], (k0 + row) * B.ld + col,
                k0 + row < end ? left(N - col) : 0};
      };
      if (kOdd && A.width < 4) {
        load_chunks<kChunksA, kThreads, kBatch>(A, chunk_of_a);
      } else {
        copy_chunks<kChunksA, kThreads>(A, chunk_of_a);
      }
      if (kOdd && B.width < 4) {
        load_chunks<kChunksB, kThreads, kBatch>(B, chunk_of_b);
      } else {
        copy_chunks<kChunksB, kThreads>(B, chunk_of_b);
      }
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
    const uint4 *As = smem + t % kStages * (kChunksA + kChunksB), *Bs = As + kChunksA;
    const auto depth = static_cast<int>(min(end - begin - static_cast<long long>(t) * BK, static_cast<long long>(BK)));
#pragma unroll
    for (int k = 0; k < BK; k += Operands::kDepth) {
      if (k >= depth) break;  // zeros from here on
      unsigned a[WM / 16][4], b[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
        ldmatrix_x4(a[i], &As[chunk_place<8>(warp_row + i * 16 + lane % 16, k / kCount + lane / 16)]);
      }
#pragma unroll
      for (int j = 0; j < WN / 16; ++j) Operands::read(b[j], Bs, k, warp_col + j * 16, lane);
#pragma unroll
      for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 8; ++j)
          Operands::multiply(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
  __pipeline_wait_prior(0);
  __syncthreads();  // the stages are free

  // Sums leave by shared memory, 16 rows of a warp at a time: so neighbouring lanes store neighbouring elements.
  constexpr int kRow = WN + 8;
  static_assert(kThreads / 32 * 16 * kRow * 4 <= kStages * (kChunksA + kChunksB) * 16, "fits where the stages were");
  float* sums = reinterpret_cast<float*>(smem) + warp * 16 * kRow;
  const auto store = [&](int i, auto count) {
    constexpr int kElements = decltype(count)::value;
#pragma unroll
    for (int e = lane * kElements; e < 16 * WN; e += 32 * kElements) {
      const long long row = row0 + warp_row + i * 16 + e / WN, col = col0 + warp_col + e % WN;
      if (row >= M) continue;
      const float* from = &sums[e / WN * kRow + e % WN];
      T* c = &C[row * ldc + col];
      if (kElements > 1 && col + kElements <= N) {
        alignas(16) T elements[kElements];
        if (beta != 0) reinterpret_cast<uint4&>(elements) = *reinterpret_cast<const uint4*>(c);
#pragma unroll
        for (int x = 0; x < kElements; ++x) {
          const float v = alpha * from[x];
          elements[x] = T(beta == 0 ? v : v + beta * static_cast<float>(elements[x]));
        }
        *reinterpret_cast<uint4*>(c) = reinterpret_cast<const uint4&>(elements);
      } else {
        for (int x = 0; x < kElements && col + x < N; ++x) {
          const float v = alpha * from[x];
          c[x] = T(beta == 0 ? v : v + beta * static_cast<float>(c[x]));
        }
      }
    }
  };
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) {  // a lane has two neighbouring columns of rows lane / 4 and lane / 4 + 8
      float* to = &sums[lane / 4 * kRow + j * 8 + lane % 4 * 2];
      reinterpret_cast<float2&>(*to) = make_float2(acc[i][j][0], acc[i][j][1]);
      reinterpret_cast<float2&>(to[8 * kRow]) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
    __syncwarp();
    if (gridDim.y > 1) {
      for (int e = lane; e < 16 * WN; e += 32) {
        const long long row = row0 + warp_row + i * 16 + e / WN, col = col0 + warp_col + e % WN;
        if (row < M && col < N) partials[(blockIdx.y * M + row) * N + col] = sums[e / WN * kRow + e % WN];
      }
    } else if (wide_c) {
      store(i, std::integral_constant<int, kCount>{});
    } else {
      store(i, std::integral_constant<int, 1>{});
    }
  }
}
