// Problem:  one tile does not fit all shapes: C of 64 x 64 fills an eighth of step 14's tile, a row of C a 128th.
// Idea:     eight kernels and a measured choice: step 14, smaller tiles with k in slices, and kernels without tiles.
// Expect:   1.0x step 14 at the table's sizes, where its tile wins; 1.1 to 500x where most of its tile would be idle.
// Measured: 1.01x step 14, 1.04x cuBLAS at 4096 (H200); 1.00x, 1.03x (H100).
// Next:     what would a tile in between, 128 x 128, need to pay? (16-byte copies of A too: a transposed copy of A.)
#include "../../few_columns.cuh"
#include "../../few_rows.cuh"
#include "../../products_without_tiles.cuh"
#include "../sgemm_14_stream_k.cu"
#include "any_shape.cuh"

#include <type_traits>

// Returns row or column i of a tile that starts at `begin`; past the end n, one of the first tile, whose products are
// not stored. When all repeated the last one, blocks at the edge took twice as long (one experiment, H200).
template <int kTile>
__device__ __forceinline__ long long existing(long long begin, int i, long long n) {
  const auto some = static_cast<unsigned>(min(n, static_cast<long long>(kTile)));
  return begin + i < n ? begin + i : static_cast<unsigned>(i) % some;
}

// Computes C = alpha A B + beta C in tiles of BM x BN per block and TM x TN per thread; k in gridDim.y slices, each
// `slice` long. One slice: results go to C; more: sums go to partials[(slice * M + row) * N + column]. kStages - 1
// tiles are in flight. kCopyFloats: floats of B per copy, 4 if its rows are 16-byte aligned, else 1.
template <int BM, int BN, int BK, int TM, int TN, int kStages, int kCopyFloats>
__global__ void __launch_bounds__(BM / TM * (BN / TN), TM* TN == 64 ? 384 / (BM / TM * (BN / TN)) : 1)
    sgemm_tile(long long M, long long N, long long K, float alpha, const float* __restrict__ A, long long lda,
               const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
               unsigned tiles_n, long long slice, float* __restrict__ partials) {
  constexpr int kThreads = BM / TM * (BN / TN), kPad = 4;
  // what the block copies at a time: rows of A; rows of B, or parts of a long row
  constexpr int kRowsA = kThreads / BK, kCopiesB = BN / kCopyFloats;
  constexpr int kRowsB = kThreads > kCopiesB ? kThreads / kCopiesB : 1;
  constexpr int kPartsB = kCopiesB > kThreads ? kCopiesB / kThreads : 1;
  constexpr int kCopiesA = BM > kRowsA ? BM / kRowsA : 1;
  static_assert(kThreads % BK == 0 && (BM % kRowsA == 0 || kRowsA % BM == 0) &&
                    (BK % kRowsB == 0 || kRowsB % BK == 0) && kRowsB * kCopiesB == kThreads * kPartsB,
                "whole copies");
  static_assert(TM % 4 == 0 && TN % 4 == 0, "float4 from shared memory");
  __shared__ alignas(16) float As[kStages][BK][BM + kPad], Bs[kStages][BK][BN];
  const int tid = threadIdx.x;
  const long long row0 = static_cast<long long>(blockIdx.x / tiles_n) * BM,
                  col0 = static_cast<long long>(blockIdx.x % tiles_n) * BN;
  const long long begin = blockIdx.y * slice, length = min(slice, K - begin);
  const int tiles = length > 0 ? static_cast<int>((length + BK - 1) / BK) : 0;

  // The first tile has the remainder of k and zeros; all others are full.
  const int remainder = static_cast<int>(length - (tiles - 1LL) * BK);
  const int a_k = tid % BK, a_row = tid / BK, b_k = tid / kCopiesB, b_col = tid % kCopiesB * kCopyFloats;
  const float *from_a[kCopiesA], *from_b[kPartsB];
#pragma unroll
  for (int i = 0; i < kCopiesA; ++i) from_a[i] = A + existing<BM>(row0, a_row + i * kRowsA, M) * lda + begin + a_k;
#pragma unroll
  for (int i = 0; i < kPartsB; ++i) {
    from_b[i] = B + (begin + b_k) * ldb + existing<BN>(col0, b_col + i * kThreads * kCopyFloats, N);
  }
  int copied = 0;
  const auto copy = [&](int s, auto first) {
    constexpr bool kFirst = decltype(first)::value;
    if (copied < tiles) {
#pragma unroll
      for (int i = 0; i < kCopiesA; ++i) {
        const bool inside = !kFirst || a_k < remainder;
        if (kRowsA > BM && a_row >= BM) break;  // more threads than copies
        __pipeline_memcpy_async(&As[s][a_k][a_row + i * kRowsA], inside ? from_a[i] : A, 4, inside ? 0 : 4);
        from_a[i] += kFirst ? remainder : BK;
      }
#pragma unroll
      for (int i = 0; i < kPartsB; ++i) {
#pragma unroll
        for (int k = 0; k < BK; k += kRowsB) {
          const bool inside = !kFirst || b_k + k < remainder;
          if (kRowsB > BK && b_k >= BK) break;
          __pipeline_memcpy_async(&Bs[s][b_k + k][b_col + i * kThreads * kCopyFloats], inside ? from_b[i] + k * ldb : B,
                                  4 * kCopyFloats, inside ? 0 : 4 * kCopyFloats);
        }
        from_b[i] += (kFirst ? remainder : BK) * ldb;
      }
    }
    ++copied;
    __pipeline_commit();
  };

  const int thread_col = tid % (BN / TN) * 4, thread_row = tid / (BN / TN) * 4;
  constexpr int kSubtileM = BM / (TM / 4), kSubtileN = BN / (TN / 4);  // between a thread's groups of four
  float acc[TM][TN] = {};
  copy(0, std::true_type{});
#pragma unroll
  for (int s = 1; s < kStages - 1; ++s) copy(s, std::false_type{});
#pragma unroll 1
  for (int t = 0; t < tiles; ++t) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // tile t has arrived, and all threads have used tile t - 1
    copy((t + kStages - 1) % kStages, std::false_type{});
    const int s = t % kStages;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float regM[TM], regN[TN];
#pragma unroll
      for (int i = 0; i < TM; i += 4) as4(regM[i]) = as4(As[s][k][thread_row + i / 4 * kSubtileM]);
#pragma unroll
      for (int j = 0; j < TN; j += 4) as4(regN[j]) = as4(Bs[s][k][thread_col + j / 4 * kSubtileN]);
#pragma unroll
      for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
      }
    }
  }
  __pipeline_wait_prior(0);

#pragma unroll
  for (int i = 0; i < TM; ++i) {
    const long long row = row0 + thread_row + i / 4 * kSubtileM + i % 4;
    if (row >= M) continue;
#pragma unroll
    for (int j = 0; j < TN; ++j) {
      const long long col = col0 + thread_col + j / 4 * kSubtileN + j % 4;
      if (col >= N) continue;
      if (gridDim.y > 1) {
        partials[(blockIdx.y * M + row) * N + col] = acc[i][j];
      } else {
        float& c = C[row * ldc + col];
        c = beta == 0.0f ? alpha * acc[i][j] : alpha * acc[i][j] + beta * c;
      }
    }
  }
}

// Splits k into as many slices as let all blocks run at once, of at least 128 products each.
template <int BM, int BN, int BK, int TM, int TN, int kStages>
static void launch_tiles(const Product<float>& p) {
  constexpr int threads = BM / TM * (BN / TN);
  const bool aligned_b = aligned_for<float4>(p.B) && p.ldb % 4 == 0 && p.N % 4 == 0;
  const auto kernel =
      aligned_b ? sgemm_tile<BM, BN, BK, TM, TN, kStages, 4> : sgemm_tile<BM, BN, BK, TM, TN, kStages, 1>;
  const std::size_t tiles_n = ceil_div(p.N, BN), tiles = tiles_n * ceil_div(p.M, BM);
  const std::size_t most = std::min(p.K / 128, kMaxSlices), at_once = resident_blocks(kernel, threads) / tiles;
  const std::size_t wanted = std::max<std::size_t>(1, std::min(most, at_once));
  const std::size_t slice = ceil_div(ceil_div(p.K, wanted), BK) * BK, slices = ceil_div(p.K, slice);
  float* partials = slices > 1 ? scratch<float, struct GemmSlices>(slices * p.M * p.N) : nullptr;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
  kernel<<<grid, threads>>>(p.M, p.N, p.K, p.alpha, p.A, p.lda, p.B, p.ldb, p.beta, p.C, p.ldc,
                            static_cast<unsigned>(tiles_n), slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices > 1) add_slices(p, grid.y, partials);
}

struct SgemmCall : Product<float> {
  Shape shape() const {
    return {M, N, K, lda, ldb, ldc, alignment(A), alignment(B), alignment(C), std::size_t{beta != 0}};
  }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(C, (M - 1) * ldc + N, beta != 0);
  }
};

static bool small_k(const SgemmCall& c) { return c.K > 0 && c.K <= 8; }
static bool few_elements(const SgemmCall& c) { return c.K >= 512 && (c.N <= 4 || c.M * c.N <= 1024); }
static bool few_rows(const SgemmCall& c) { return c.K > 0 && c.M <= 4; }
static bool few_columns(const SgemmCall& c) { return c.K > 0 && c.N <= 4; }
static bool any_sum(const SgemmCall& c) { return c.K > 0; }

static void run_small_k(const SgemmCall& c) { launch_small_k(c); }
static void run_dot(const SgemmCall& c) { launch_dot(c); }
static void run_few_rows(const SgemmCall& c) { launch_few_rows(c); }
static void run_few_columns(const SgemmCall& c) { launch_few_columns(c); }
static void run_stream_k(const SgemmCall& c) {
  launch_stream_k(c.M, c.N, c.K, c.alpha, c.A, c.lda, c.B, c.ldb, c.beta, c.C, c.ldc);
}
static void run_tiles(const SgemmCall& c) { launch_tiles<64, 64, 8, 8, 8, 4>(c); }
static void run_low_tiles(const SgemmCall& c) {
  c.M <= 16 ? launch_tiles<16, 128, 16, 4, 4, 3>(c) : launch_tiles<32, 128, 8, 8, 4, 4>(c);
}
static void run_narrow_tiles(const SgemmCall& c) {
  c.N <= 16 ? launch_tiles<64, 16, 32, 4, 4, 3>(c) : launch_tiles<128, 32, 8, 8, 4, 4>(c);
}

// Candidates for special shapes come first: if nothing is timed, the first one that accepts the call runs.
static const Candidate<SgemmCall> kCandidates[] = {
    {"small_k", small_k, run_small_k},     {"dot", few_elements, run_dot},
    {"few_rows", few_rows, run_few_rows},  {"few_columns", few_columns, run_few_columns},
    {"stream_k", any, run_stream_k},       {"tiles", any_sum, run_tiles},
    {"low_tiles", any_sum, run_low_tiles}, {"narrow_tiles", any_sum, run_narrow_tiles}};

static void launch(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  launch_fastest(kCandidates, SgemmCall{{M, N, K, alpha, A, lda, B, ldb, beta, C, ldc}});
}

LADDER_STEP(Sgemm, launch);
