// Problem:  attention is two GEMMs. FFMA units reach 67 TFLOP/s at most, BF16 tensor cores 989.
// Idea:     WMMA for both GEMMs, the online softmax of attention 04 between them. Which lane holds which element of a
//           fragment is not specified, so scores, P and O pass through shared memory.
// Expect:   10 to 30 TFLOP/s, 2 to 5 % of cuDNN: each score is stored and loaded twice, and O twice for each tile.
// Measured: 8.88 TFLOP/s at 64x2048x2048 (H200).
// Next:     which lanes hold the scores after Q K^T, and which lanes need P for P V?
// needs: sm_80
#include "attention_bf16.cuh"
#include "../online_softmax.cuh"  // group_max, group_sum, shift_for

#include <mma.h>

namespace wmma = nvcuda::wmma;

constexpr int kWarps = 2, kThreads = 32 * kWarps;
constexpr int BM = 16 * kWarps, BN = 32;  // each warp owns 16 queries

template <int D>
__global__ void attention_bf16_wmma(const __nv_bfloat16* __restrict__ Q, const __nv_bfloat16* __restrict__ K,
                                    const __nv_bfloat16* __restrict__ V, __nv_bfloat16* __restrict__ O,
                                    unsigned tiles_m, long long queries, long long keys, bool causal) {
  // load_matrix_sync needs addresses that are multiples of 32 bytes.
  __shared__ __align__(32) __nv_bfloat16 Qs[BM][D], Ks[BN][D], Vs[BN][D], Ps[BM][BN];
  __shared__ __align__(32) float Ss[BM][BN], Os[BM][D];
  const int tid = threadIdx.x, warp_row = tid / 32 * 16;
  const int row = tid / 2, half = tid % 2;  // for the softmax: two lanes share a row, one has its odd columns
  const std::size_t head = blockIdx.x / tiles_m;
  const long long row0 = static_cast<long long>(blockIdx.x % tiles_m) * BM;
  const long long ahead = causal ? keys - queries : keys;    // query i attends to the keys up to i + ahead
  const long long last = min(keys - 1, row0 + row + ahead);  // this row's last key
  const __nv_bfloat16 zero = __float2bfloat16(0.0f);
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;
  for (int e = tid; e < BM * D; e += kThreads) {
    Qs[e / D][e % D] = row0 + e / D < queries ? Q[e] : zero;
    Os[e / D][e % D] = 0.0f;
  }
  float max = -INFINITY, sum = 0.0f;

  for (long long key0 = 0; key0 < keys; key0 += BN) {
    // load: 0 past the last key
    __syncthreads();  // all threads have read the previous tiles
    for (int e = tid; e < BN * D; e += kThreads) {
      const bool inside = key0 + e / D < keys;
      Ks[e / D][e % D] = inside ? K[key0 * D + e] : zero;
      Vs[e / D][e % D] = inside ? V[key0 * D + e] : zero;
    }
    __syncthreads();
    // S = Q K^T: the rows of K are the columns of K^T
    for (int j = 0; j < BN; j += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
      wmma::fill_fragment(s, 0.0f);
      for (int c = 0; c < D; c += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> q;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> k;
        wmma::load_matrix_sync(q, &Qs[warp_row][c], D);
        wmma::load_matrix_sync(k, &Ks[j][c], D);
        wmma::mma_sync(s, q, k, s);
      }
      wmma::store_matrix_sync(&Ss[warp_row][j], s, BN, wmma::mem_row_major);
    }
    __syncwarp();  // no other warp touches these rows
    // online softmax
    float m = max;
    for (int j = half; j < BN; j += 2) {
      Ss[row][j] = key0 + j <= last ? Ss[row][j] / sqrtf(D) : -INFINITY;
      m = fmaxf(m, Ss[row][j]);
    }
    m = group_max<2>(m);
    const float shift = shift_for(m), rescale = expf(max - shift);
    max = m;
    sum *= rescale;  // this lane's keys
    for (int j = half; j < BN; j += 2) {
      const float p = expf(Ss[row][j] - shift);
      sum += p;
      Ps[row][j] = __float2bfloat16(p);
    }
    for (int c = half; c < D; c += 2) Os[row][c] *= rescale;
    __syncwarp();
    // O += P V
    for (int c = 0; c < D; c += 16) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> o;
      wmma::load_matrix_sync(o, &Os[warp_row][c], D, wmma::mem_row_major);
      for (int j = 0; j < BN; j += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> v;
        wmma::load_matrix_sync(p, &Ps[warp_row][j], BN);
        wmma::load_matrix_sync(v, &Vs[j][c], D);
        wmma::mma_sync(o, p, v, o);
      }
      wmma::store_matrix_sync(&Os[warp_row][c], o, D, wmma::mem_row_major);
    }
  }

  // store
  __syncwarp();
  sum = group_sum<2>(sum);
  if (row0 + row >= queries) return;
  for (int c = half; c < D; c += 2) O[row * D + c] = __float2bfloat16(sum == 0.0f ? 0.0f : Os[row][c] / sum);
}

static void launch(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                   std::size_t heads, std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  const auto kernel = d == 64 ? attention_bf16_wmma<64> : attention_bf16_wmma<128>;
  kernel<<<static_cast<unsigned>(heads * tiles_m), kThreads>>>(Q, K, V, O, tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

// exp and the multiplication by V, both again for each tile's rescaling; the division.
static std::size_t roundings(std::size_t keys) { return 4 + ceil_div(5 * (keys + BN), 2) + 5 * ceil_div(keys, BN) + 1; }

LADDER_STEP(AttentionBf16, launch, roundings);
