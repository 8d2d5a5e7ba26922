// Step 12 gives every SM whole tiles: 512 tiles on 132 SMs take four waves, and the last one leaves 16 SMs idle; 32
// tiles leave 100. Idea: split k. Whole waves stay as they are. What is left is one long row of k tiles, tile after
// tile, cut into as many equal shares as there are SMs ("stream-K"). A share may end in the middle of a tile of C, so a
// block has up to two tiles of which it knows a part of the sums; it stores them apart, and a second kernel adds up the
// parts of each tile, in the order of k: the same bits every run. Two thin matrices, m = n = 128 and a huge k, are one
// tile in 132 shares. All this only if it saves more than the second kernel costs. And rows of B that are not aligned
// are first copied into rows that are (aligned_rows.cuh).
// Expect: 3 % on 4096 and 8192; a third of the time on 1024; a fifth less on 4097, where step 12 pays for a fifth
// wave.
// Next question: a part is 128 KB, written and read again. How could blocks of a thread block cluster do without?
#include "aligned_rows.cuh"
#include "pipelined_tile.cuh"

#include <algorithm>

// Tiles of C are numbered row by row, `tiles_n` in each. Blocks below `whole` have the tile of their number; block
// whole + b has the k tiles from b * share on of the tiles from `whole` on. Sums of a part of a tile go to
// parts[2 * b + 1] if they begin with the tile's first k, else to parts[2 * b].
template <int kVector>
__global__ void __launch_bounds__(kThreads)
    sgemm_split_k(long long m, long long n, long long k, float alpha, const float* __restrict__ A, long long lda,
                  const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                  unsigned tiles_n, bool aligned_c, unsigned whole, int share, long long end_of_shares,
                  float4 (*__restrict__ parts)[kQuads][kThreads]) {
  extern __shared__ float4 memory[];
  Stage* const stages = reinterpret_cast<Stage*>(memory);
  const int tid = threadIdx.x, tx = first_column(tid), ty = first_row(tid);
  const int tiles_k = static_cast<int>((k + BK - 1) / BK);

  const long long b = static_cast<long long>(blockIdx.x) - whole;  // the share, if it is one
  long long now = b < 0 ? 0 : b * share;                           // k tiles, counted from the first of tile `first`
  const long long end = b < 0 ? tiles_k : min(now + share, end_of_shares);
  const unsigned first = b < 0 ? blockIdx.x : whole;
  do {
    const auto tile = first + static_cast<unsigned>(tiles_k > 0 ? now / tiles_k : 0);
    const int t0 = tiles_k > 0 ? static_cast<int>(now % tiles_k) : 0;
    const int tiles = static_cast<int>(min(end - now, static_cast<long long>(tiles_k - t0)));
    const long long row0 = static_cast<long long>(tile / tiles_n) * BM,
                    column0 = static_cast<long long>(tile % tiles_n) * BN;

    float sum[TM][TN] = {};
    add_k_tiles<kVector>(stages, m, n, k, A, lda, B, ldb, row0, column0, t0, tiles, sum);

    // The parts are scaled before they are stored, which makes new values of them. To store the sums as they are, the
    // compiler keeps each four of them in an aligned group of registers, and the loop pays for that in bank conflicts.
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const int i = q / (TN / 4), j = q % (TN / 4) * 4;
      const float* s = &sum[i][j];
      if (tiles < tiles_k) {
        parts[2 * b + (t0 == 0)][q][tid] = make_float4(alpha * s[0], alpha * s[1], alpha * s[2], alpha * s[3]);
      } else {
        store4_scaled(m, n, alpha, make_float4(s[0], s[1], s[2], s[3]), beta, C, ldc, row0 + ty + i / 4 * kHopM + i % 4,
                      column0 + tx + j / 4 * kHopN, aligned_c);
      }
    }
    now += tiles;
    if (now < end) __syncthreads();  // the stages are free again
  } while (now < end);
}

// Adds up the parts of tile whole + blockIdx.x, which are scaled already; each thread has one quad, blockIdx.y.
__global__ void __launch_bounds__(kThreads)
    sgemm_add_parts(long long m, long long n, int tiles_k, float beta, float* __restrict__ C, long long ldc,
                    unsigned tiles_n, bool aligned_c, unsigned whole, int share,
                    const float4 (*__restrict__ parts)[kQuads][kThreads]) {
  const long long begin = static_cast<long long>(blockIdx.x) * tiles_k, end = begin + tiles_k;
  const long long first = begin / share, last = (end - 1) / share;  // shares
  if (first == last) return;                                        // one block had all of it
  const int tid = threadIdx.x, q = blockIdx.y, i = q / (TN / 4), j = q % (TN / 4) * 4;
  float4 sum = parts[2 * first + 1][q][tid];
  for (long long b = first + 1; b <= last; ++b) {
    const float4 part = parts[2 * b][q][tid];
    sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
  }
  const unsigned tile = whole + blockIdx.x;
  store4_scaled(m, n, 1.0f, sum, beta, C, ldc,
                static_cast<long long>(tile / tiles_n) * BM + first_row(tid) + i / 4 * kHopM + i % 4,
                static_cast<long long>(tile % tiles_n) * BN + first_column(tid) + j / 4 * kHopN, aligned_c);
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const bool aligned_c = aligned_for<float4>(C) && ldc % 4 == 0;
  bool aligned_b = aligned_for<float4>(B) && ldb % 4 == 0 && n % 4 == 0;
  if (!aligned_b && m > 2 * BM && k > 0) {  // few rows of C would not earn the copy back
    B = copy_to_aligned_rows(n, k, B, ldb);
    aligned_b = true;
  }

  // Tiles in whole waves, one block on each SM; the others, `rest`, in shares, if that saves enough k tiles.
  constexpr std::size_t least_share = 4, least_saved = 16;
  const auto tiles_m = static_cast<unsigned>(ceil_div(m, BM)), tiles_n = static_cast<unsigned>(ceil_div(n, BN));
  const std::size_t sms = sm_count(), tiles = tiles_m * tiles_n, tiles_k = ceil_div(k, BK), rest = tiles % sms;
  const std::size_t share = std::max(least_share, ceil_div(rest * tiles_k, sms));
  const bool split = share + least_saved <= tiles_k;
  const auto whole = static_cast<unsigned>(split ? tiles - rest : tiles);
  const auto shares = static_cast<unsigned>(split ? ceil_div(rest * tiles_k, share) : 0);
  auto* parts = reinterpret_cast<float4(*)[kQuads][kThreads]>(scratch<float, struct Parts>(std::size_t{2} * shares * BM * BN));

  const auto kernel = aligned_b ? sgemm_split_k<4> : sgemm_split_k<1>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<whole + shares, kThreads, bytes>>>(m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned_c, whole,
                                              static_cast<int>(share), rest * tiles_k, parts);
  CUDA_CHECK(cudaGetLastError());
  if (shares == 0) return;
  const dim3 grid(static_cast<unsigned>(rest), kQuads);
  sgemm_add_parts<<<grid, kThreads>>>(m, n, static_cast<int>(tiles_k), beta, C, ldc, tiles_n, aligned_c, whole,
                                      static_cast<int>(share), parts);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
