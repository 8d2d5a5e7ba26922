// C = alpha A B + beta C for n up to 4 and many rows, where reading A once takes most of the time. All sums are FP32.
#pragma once
#include "products_without_tiles.cuh"

constexpr int kFewColumnsThreads = 256;

// Rows of A per thread, and elements of each read at once: as many as 80 registers allow, for 3 blocks per SM.
template <int kColumns>
constexpr int kFewColumnsRows = kColumns == 4 ? 4 : 8;
template <typename T, int kColumns>
constexpr int kFewColumnsDepth = kColumns == 4                     ? 4
                                 : kColumns == 1 && sizeof(T) == 2 ? 3
                                                                   : 2;

constexpr int kLeastLogLanes = 2, kMostLogLanes = 5;

// Returns log2 of the lanes per row: the fewest, 4 to 32, with at most 4 products each. Fewer touch more rows per load.
inline int few_columns_log_lanes(std::size_t K) {
  constexpr std::size_t most = 4;
  int log = kLeastLogLanes;
  while (log < kMostLogLanes && (most << log) < K) ++log;
  return log;
}

// 1 << log_lanes lanes share a row, so a warp has kRows * (32 >> log_lanes) rows. N is kColumns; if that is 4, maybe 3.
template <typename T, int kColumns>
__global__ void __launch_bounds__(kFewColumnsThreads, 3)
    gemm_few_columns(unsigned M, int N, unsigned K, float alpha, const T* __restrict__ A, long long lda,
                     const T* __restrict__ B, long long ldb, float beta, T* __restrict__ C, long long ldc,
                     int log_lanes) {
  constexpr int kRows = kFewColumnsRows<kColumns>, kDepth = kFewColumnsDepth<T, kColumns>, kSums = kRows * kColumns;
  const unsigned lanes = 1U << log_lanes, lane = threadIdx.x & (lanes - 1);
  const unsigned apart = 32U >> log_lanes;  // distance between a thread's rows; other lanes have the rows between
  const unsigned warp = blockIdx.x * (kFewColumnsThreads / 32) + threadIdx.x / 32;
  const unsigned row0 = warp * (kRows * apart) + (threadIdx.x % 32 >> log_lanes);
  const T* rows[kRows];  // past the end: the last row, whose sums are not stored
#pragma unroll
  for (int r = 0; r < kRows; ++r) rows[r] = A + min(row0 + r * apart, M - 1) * lda;

  float sum[kSums] = {};
  unsigned k = 0;
  const auto add = [&](bool guarded) {
    T a[kDepth][kRows], b[kDepth][kColumns];
#pragma unroll
    for (int u = 0; u < kDepth; ++u) {
      // Past the end a lane reads the row's last element and drops it below. A guard per load would be a branch.
      const unsigned l = guarded ? min(k + u * lanes + lane, K - 1) : k + u * lanes + lane;
      if (guarded && k + u * lanes >= K) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) a[u][r] = rows[r][l];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) b[u][c] = c < 3 || c < N ? B[l * ldb + c] : T(0.0f);
    }
#pragma unroll
    for (int u = 0; u < kDepth; ++u) {
      if (guarded && k + u * lanes >= K) break;
      const bool inside = !guarded || k + u * lanes + lane < K;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float of_a = inside ? static_cast<float>(a[u][r]) : 0.0f;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          sum[r * kColumns + c] += of_a * (inside ? static_cast<float>(b[u][c]) : 0.0f);
        }
      }
    }
    k += kDepth * lanes;
  };
#pragma unroll 1
  while (k + kDepth * lanes <= K) add(false);
  if (k < K) add(true);

  // reduce over the row's lanes: of each pair, one lane keeps the first half of the sums, the other the second half
  constexpr int kMost = kSums >> kLeastLogLanes;  // per lane, at the end
  int count = kSums, first = 0, offset = static_cast<int>(lanes / 2);
#pragma unroll
  for (int half = kSums / 2; half > 0; half /= 2) {
    if (half >= kMost || offset > 0) {
      const bool second = (lane & offset) != 0;
#pragma unroll
      for (int i = 0; i < kSums / 2; ++i) {
        if (i >= half) break;
        const float given = second ? sum[i] : sum[i + half], kept = second ? sum[i + half] : sum[i];
        sum[i] = kept + __shfl_xor_sync(0xffffffff, given, offset);
      }
      first += second ? half : 0;
      count = half;
      offset /= 2;
    }
  }
  const bool stores = (lane & (offset > 0 ? 2 * offset - 1 : 0)) == 0;  // the other lanes have the same sum
  for (; offset > 0; offset /= 2) sum[0] += __shfl_xor_sync(0xffffffff, sum[0], offset);
  if (!stores) return;
#pragma unroll
  for (int i = 0; i < kMost; ++i) {
    const unsigned row = row0 + (first + i) / kColumns * apart;
    const int column = (first + i) % kColumns;
    if (i >= count || row >= M || (kColumns == 4 && column >= N)) continue;
    T& to = C[row * ldc + column];
    to = T(beta == 0.0f ? alpha * sum[i] : alpha * sum[i] + beta * static_cast<float>(to));
  }
}

template <int kColumns, typename T>
void launch_few_columns(const Product<T>& p) {
  const int log_lanes = few_columns_log_lanes(p.K);
  constexpr std::size_t all = std::size_t{kFewColumnsThreads} * kFewColumnsRows<kColumns>;
  gemm_few_columns<T, kColumns><<<static_cast<unsigned>(ceil_div(p.M, all >> log_lanes)), kFewColumnsThreads>>>(
      static_cast<unsigned>(p.M), static_cast<int>(p.N), static_cast<unsigned>(p.K), p.alpha, p.A, p.lda, p.B, p.ldb,
      p.beta, p.C, p.ldc, log_lanes);
  CUDA_CHECK(cudaGetLastError());
}

// M, N and K must not be 0, N at most 4.
template <typename T>
void launch_few_columns(const Product<T>& p) {
  if (p.N == 1) {
    launch_few_columns<1>(p);
  } else if (p.N == 2) {
    launch_few_columns<2>(p);
  } else {
    launch_few_columns<4>(p);
  }
}
