// C = alpha A B + beta C for m up to 4, where reading B once takes most of the time. All sums are FP32.
#pragma once
#include "products_without_tiles.cuh"

constexpr int kFewRowsThreads = 256;

// M rows of C, at most kRows, in tiles of width * kColumns columns. A thread has kColumns columns, 16 bytes of B:
// neighbours if rows of B are 16-byte aligned (kVector), otherwise `width` apart. A block's rows of threads divide the
// k of slice blockIdx.y. One slice: results go to C; more: sums go to partials[(slice * M + row) * N + column].
template <typename T, int kRows, bool kVector>
__global__ void __launch_bounds__(kFewRowsThreads, kRows == 4 ? 2 : 3)
    gemm_few_rows(int M, long long N, long long K, float alpha, const T* __restrict__ A, long long lda,
                  const T* __restrict__ B, long long ldb, float beta, T* __restrict__ C, long long ldc, int width,
                  long long slice, float* __restrict__ partials) {
  constexpr int kColumns = 16 / sizeof(T), kDepth = kRows > 1 ? 4 : kVector ? 8 : 32 / kColumns;
  const int lane = threadIdx.x % width, first = threadIdx.x / width, row_step = blockDim.x / width;
  const int apart = kVector ? 1 : width;
  const long long col = static_cast<long long>(blockIdx.x) * width * kColumns + (kVector ? kColumns * lane : lane);
  const long long end = min((blockIdx.y + 1) * slice, K);
  // a chunk that extends past N is read whole, except in the last row: the gap or the next row follows
  const bool whole = kVector && col + kColumns <= N;
  const long long readable = !kVector || whole ? end : min(end, K - 1);

  float sum[kRows][kColumns] = {};
  long long k = blockIdx.y * slice + first;
  const auto add = [&](bool guarded) {
    alignas(16) T b[kDepth][kColumns];
#pragma unroll
    for (int u = 0; u < kDepth; ++u) {
      const T* from = B + (k + u * row_step) * ldb + col;
      const bool inside = !guarded || k + u * row_step < end;
      if (kVector && (!guarded || (whole && inside))) {
        reinterpret_cast<uint4&>(b[u]) = *reinterpret_cast<const uint4*>(from);
      } else {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) b[u][c] = inside && col + c * apart < N ? from[c * apart] : T(0.0f);
      }
    }
#pragma unroll
    for (int u = 0; u < kDepth; ++u) {
      const bool inside = !guarded || k + u * row_step < end;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float a = inside && i < M ? static_cast<float>(A[i * lda + k + u * row_step]) : 0.0f;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sum[i][c] += a * static_cast<float>(b[u][c]);
      }
    }
    k += kDepth * row_step;
  };
  if (first < row_step && col < N) {
#pragma unroll 1
    while (k + (kDepth - 1) * row_step < readable) add(false);
#pragma unroll 1
    while (k < end) add(true);
  }

  // reduce over the block's rows of threads: add the second half to the first until one row is left
  __shared__ float sums[kColumns][kFewRowsThreads];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll 1
    for (int rows = row_step; rows > 1; rows = (rows + 1) / 2) {
      const int half = (rows + 1) / 2;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sums[c][threadIdx.x] = sum[i][c];
      __syncthreads();
      if (first + half < rows) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sum[i][c] += sums[c][threadIdx.x + half * width];
      }
      __syncthreads();  // all threads have read `sums`
    }
    if (i >= M || first > 0) continue;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const long long to = col + c * apart;
      if (to >= N) continue;
      if (gridDim.y > 1) {
        partials[(static_cast<long long>(blockIdx.y) * M + i) * N + to] = sum[i][c];
      } else {
        T& out = C[i * ldc + to];
        out = T(beta == 0.0f ? alpha * sum[i][c] : alpha * sum[i][c] + beta * static_cast<float>(out));
      }
    }
  }
}

struct FewRowsTiles {
  std::size_t tiles, width, slices;  // width in threads; slices: the most that k may be split into
};

// Divides a row of `chunks` threads into tiles: as wide as a block if the tiles, or their slices, fill the GPU, else
// narrower, down to a warp. Then a block's rows of threads divide k, and more blocks run without a second kernel.
inline FewRowsTiles few_rows_tiles(std::size_t chunks, std::size_t K, std::size_t sms, std::size_t resident) {
  constexpr std::size_t least_k = 32;  // per slice and row of threads
  for (std::size_t widest = kFewRowsThreads;; widest /= 2) {
    const std::size_t tiles = (chunks + widest - 1) / widest, width = (chunks + tiles - 1) / tiles;
    const std::size_t slices = K / (least_k * (kFewRowsThreads / width));
    if (widest == 32 || tiles >= sms || tiles * slices >= resident) return {tiles, width, slices};
  }
}

template <int kRows, bool kVector, typename T>
void launch_few_rows(const Product<T>& p) {
  constexpr std::size_t columns = 16 / sizeof(T);
  const auto kernel = gemm_few_rows<T, kRows, kVector>;
  const std::size_t resident = resident_blocks(kernel, kFewRowsThreads);
  const auto [tiles, width, most] = few_rows_tiles(ceil_div(p.N, columns), p.K, sm_count(), resident);
  const std::size_t wanted = slices_for(tiles, resident, most);
  const std::size_t slices = std::clamp<std::size_t>(wanted, 1, kMaxSlices);
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * p.M * p.N) : nullptr;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
  kernel<<<grid, kFewRowsThreads>>>(static_cast<int>(p.M), p.N, p.K, p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C,
                                    p.ldc, static_cast<int>(width), ceil_div(p.K, slices), partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices > 1) add_slices(p, grid.y, partials);
}

template <typename T>
void launch_few_rows(const Product<T>& p) {
  const bool vector = aligned_for<uint4>(p.B) && p.ldb * sizeof(T) % sizeof(uint4) == 0;
  if (p.M == 1) {
    vector ? launch_few_rows<1, true>(p) : launch_few_rows<1, false>(p);
  } else if (p.M == 2) {
    vector ? launch_few_rows<2, true>(p) : launch_few_rows<2, false>(p);
  } else {
    vector ? launch_few_rows<4, true>(p) : launch_few_rows<4, false>(p);
  }
}
