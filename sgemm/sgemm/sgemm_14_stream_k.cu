// Problem:  wave quantization: 512 tiles on 132 SMs leave 16 SMs idle in the fourth wave, 32 tiles leave 100 idle.
// Idea:     stream-K: full waves stay; the other tiles' k is cut into a unit per SM. A second kernel adds partial sums.
// Expect:   1.03x step 13 at 4096 and 8192, 1.15x at 4097 (the fifth wave disappears), 2.5 to 3x at 1024.
// Measured: 1.02x step 13, 1.03x cuBLAS at 4096 (H200); 1.02x, 1.03x (H100).
// Next:     a partial tile is 128 KB, written and read again. How could the blocks of a cluster avoid that?
#include "sgemm_13_cp_async.cu"

#include <algorithm>

constexpr int kQuads = TM * TN / 4;  // groups of four neighbouring accumulators per thread
struct PartialTile {
  float4 quad[kQuads][kThreads];  // a block's accumulators for part of a tile's k tiles, as each thread holds them
};

// Tiles of C are numbered row by row, tiles_n per row. Block b < whole_tiles computes tile b. The k tiles of the other
// tiles, split_k_tiles in all, are cut into units of unit_size, which may span two tiles of C. Block whole_tiles + u
// computes unit u. Its part of a tile goes to partials[2 * u + 1] if it has the tile's first k tile, else to [2 * u].
template <int kCopyFloats>
__global__ void __launch_bounds__(kThreads)
    sgemm_stream_k(long long M, long long N, long long K, float alpha, const float* __restrict__ A, long long lda,
                   const float* __restrict__ B, long long ldb, float beta, float* __restrict__ C, long long ldc,
                   unsigned tiles_n, bool aligned_c, unsigned whole_tiles, int unit_size, long long split_k_tiles,
                   PartialTile* __restrict__ partials) {
  extern __shared__ float4 smem[];
  const int tid = threadIdx.x, thread_col = first_col(tid), thread_row = first_row(tid);
  const int tiles_k = static_cast<int>((K + BK - 1) / BK);

  // this block's k tiles: from `at` to `end`, counted from the first k tile of tile `first_tile`
  const long long unit = static_cast<long long>(blockIdx.x) - whole_tiles;  // negative: a whole tile
  long long at = unit < 0 ? 0 : unit * unit_size;
  const long long end = unit < 0 ? tiles_k : min(at + unit_size, split_k_tiles);
  const unsigned first_tile = unit < 0 ? blockIdx.x : whole_tiles;
  do {
    const auto tile = first_tile + static_cast<unsigned>(tiles_k > 0 ? at / tiles_k : 0);
    const int t0 = tiles_k > 0 ? static_cast<int>(at % tiles_k) : 0;
    const int tiles = static_cast<int>(min(end - at, static_cast<long long>(tiles_k - t0)));
    const long long row0 = static_cast<long long>(tile / tiles_n) * BM,
                    col0 = static_cast<long long>(tile % tiles_n) * BN;

    float acc[TM][TN] = {};
    add_k_tiles<kCopyFloats>(reinterpret_cast<Stage*>(smem), M, N, K, A, lda, B, ldb, row0, col0, t0, tiles, acc);

    // Partial sums are scaled before the store. Otherwise the main loop keeps them in aligned groups of 4 registers,
    // whose banks conflict (SASS).
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const int i = q / (TN / 4), j = q % (TN / 4) * 4;
      const float* sums = &acc[i][j];
      if (tiles < tiles_k) {
        partials[2 * unit + (t0 == 0)].quad[q][tid] =
            make_float4(alpha * sums[0], alpha * sums[1], alpha * sums[2], alpha * sums[3]);
      } else {
        store4_scaled(M, N, alpha, make_float4(sums[0], sums[1], sums[2], sums[3]), beta, C, ldc,
                      row0 + thread_row + i / 4 * kSubtileM + i % 4, col0 + thread_col + j / 4 * kSubtileN, aligned_c);
      }
    }
    at += tiles;
    if (at < end) __syncthreads();  // all threads have read the stages
  } while (at < end);
}

// Adds the partial sums, already scaled, of tile whole_tiles + blockIdx.x. Each thread adds quad blockIdx.y.
__global__ void __launch_bounds__(kThreads)
    sgemm_add_partials(long long M, long long N, int tiles_k, float beta, float* __restrict__ C, long long ldc,
                       unsigned tiles_n, bool aligned_c, unsigned whole_tiles, int unit_size,
                       const PartialTile* __restrict__ partials) {
  const long long begin = static_cast<long long>(blockIdx.x) * tiles_k, end = begin + tiles_k;
  const long long first = begin / unit_size, last = (end - 1) / unit_size;  // its first and last unit
  if (first == last) return;                                                // one block computed the whole tile
  const int tid = threadIdx.x, q = blockIdx.y, i = q / (TN / 4), j = q % (TN / 4) * 4;
  float4 acc = partials[2 * first + 1].quad[q][tid];
  for (long long unit = first + 1; unit <= last; ++unit) {
    const float4 more = partials[2 * unit].quad[q][tid];
    acc = make_float4(acc.x + more.x, acc.y + more.y, acc.z + more.z, acc.w + more.w);
  }
  const unsigned tile = whole_tiles + blockIdx.x;
  store4_scaled(M, N, 1.0f, acc, beta, C, ldc,
                static_cast<long long>(tile / tiles_n) * BM + first_row(tid) + i / 4 * kSubtileM + i % 4,
                static_cast<long long>(tile % tiles_n) * BN + first_col(tid) + j / 4 * kSubtileN, aligned_c);
}

// Copies B, K x N, to rows of ldb_to floats, a multiple of 4, with zeros at their ends. One thread per float4.
__global__ static void sgemm_align_rows(long long K, long long N, const float* __restrict__ B, long long ldb,
                                        long long ldb_to, float4* __restrict__ to) {
  const long long i = blockIdx.x * 256LL + threadIdx.x, row = i / (ldb_to / 4), col = i % (ldb_to / 4) * 4;
  if (row < K) to[i] = load4_guarded(&B[row * ldb + col], N - col);
}

static void launch_stream_k(std::size_t M, std::size_t N, std::size_t K, float alpha, const float* A, std::size_t lda,
                            const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (M == 0 || N == 0) return;
  if (alpha == 0) K = 0;  // A and B are not read
  const bool aligned_c = aligned_for<float4>(C) && ldc % 4 == 0;
  bool aligned_b = aligned_for<float4>(B) && ldb % 4 == 0 && N % 4 == 0;
  if (!aligned_b && M > 2 * BM && K > 0) {  // with few rows of C the copy costs more than it saves
    const std::size_t ldb_to = ceil_div(N, 4) * 4, quads = K * ldb_to / 4;
    float4* to = scratch<float4, struct AlignedRows>(quads);
    sgemm_align_rows<<<static_cast<unsigned>(ceil_div(quads, 256)), 256>>>(K, N, B, ldb, ldb_to, to);
    CUDA_CHECK(cudaGetLastError());
    B = &to->x, ldb = ldb_to, aligned_b = true;
  }

  // Whole waves have one block per SM. The remaining tiles are split if that saves enough k tiles.
  constexpr std::size_t least_unit = 4, least_saved = 16;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, BM)), tiles_n = static_cast<unsigned>(ceil_div(N, BN));
  const std::size_t sms = sm_count(), tiles = tiles_m * tiles_n, tiles_k = ceil_div(K, BK), remaining = tiles % sms;
  const std::size_t unit_size = std::max(least_unit, ceil_div(remaining * tiles_k, sms));
  const bool split = unit_size + least_saved <= tiles_k;
  const auto whole_tiles = static_cast<unsigned>(split ? tiles - remaining : tiles);
  const auto units = static_cast<unsigned>(split ? ceil_div(remaining * tiles_k, unit_size) : 0);
  PartialTile* partials = scratch<PartialTile>(std::size_t{2} * units);

  const auto kernel = aligned_b ? sgemm_stream_k<4> : sgemm_stream_k<1>;
  constexpr int bytes = kStages * sizeof(Stage);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<whole_tiles + units, kThreads, bytes>>>(M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n, aligned_c,
                                                   whole_tiles, static_cast<int>(unit_size), remaining * tiles_k,
                                                   partials);
  CUDA_CHECK(cudaGetLastError());
  if (units == 0) return;
  const dim3 grid(static_cast<unsigned>(remaining), kQuads);
  sgemm_add_partials<<<grid, kThreads>>>(M, N, static_cast<int>(tiles_k), beta, C, ldc, tiles_n, aligned_c, whole_tiles,
                                         static_cast<int>(unit_size), partials);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch_stream_k);
