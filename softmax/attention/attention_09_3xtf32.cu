// Problem:  step 08 has 62 % of the FFMA peak. TF32 mma.sync has 5 times that rate, but 11 significant bits, not 24.
// Idea:     3xTF32: x = big + small, both TF32, and a b = big big + big small + small big, without small small. A
//           warp owns 16 queries; the accumulators of Q K^T become the A operand of P V.
// Expect:   1.3 to 1.8x step 08: mma.sync alone allows 106 TFLOP/s; three of them need 10 to 13 other instructions.
// Measured: 1.39x step 08, 57.5 TFLOP/s at 64x2048x2048 (H200).
// Next:     a decoder has one query per head. How full are these tiles then?
// needs: sm_80
#include "attention.cuh"
#include "attention_fragments.cuh"
#include "split_tf32.cuh"

constexpr int kThreads = 128, BM = kThreads / 2, BN = 32;  // 16 rows per warp

// Which lane holds what (g = lane / 4, t = lane % 4). The contraction index of an mma.sync may be permuted, the same
// way in A and B. In place of columns t and t + 4 of A, and rows t and t + 4 of B,
//   Q K^T takes two adjacent dimensions of 8 t to 8 t + 7 in each 32, so a float4 of K feeds two mma.sync;
//   P V takes keys 2 t and 2 t + 1, whose scores the lane already holds, so P needs no shuffles.
// Output fragment x holds columns 4 g + x of each 32, so a float4 of V feeds four. Rows of K and V are D + 4 floats
// apart: eight lanes read float4 from banks 8 t + 4 g (mod 32), each bank once.
template <int D, bool kAligned>
__global__ void __launch_bounds__(kThreads, D == 64 ? 4 : 3)
    attention_3xtf32(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                     float* __restrict__ O, unsigned heads, unsigned tiles_m, long long queries, long long keys,
                     bool causal) {
  constexpr int kPitch = D + 4;
  extern __shared__ float4 smem[];
  float *const Ks = &smem->x, *const Vs = Ks + BN * kPitch, *const Qs = Vs + BN * kPitch;
  const int tid = threadIdx.x, g = tid % 32 / 4, t = tid % 4, row = tid / 32 * 16 + g;  // and row + 8
  const std::size_t head = blockIdx.x % heads;
  const long long row0 = static_cast<long long>(tiles_m - 1 - blockIdx.x / heads) * BM;  // the longest blocks first
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long end = min(keys, row0 + BM + ahead);      // no query of the block attends to later keys
  Q += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;

  const int copy_row = tid / (D / 4), copy_col = tid % (D / 4) * 4;
  const auto copy = [&](float* to, const float* from, long long left) {
    copy_rows_async<BN, D, kThreads, kAligned>(to, kPitch, from, left, copy_row, copy_col, K);
  };
  if (end <= 0) {  // the whole block: all keys are masked
    const long long left = min(queries - row0, static_cast<long long>(BM)) * D;
    for (int i = 4 * tid; i < left; i += 4 * kThreads) store4<kAligned>(O + (head * queries + row0) * D + i, float4{});
    return;
  }
  copy(Ks, K, keys);

  load_query_fragments<D, kThreads, kAligned>(Qs, Q, row0, row, t, queries);
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {}, rescale[2];  // of rows g and g + 8 of the warp
  float o[D / 32][4][4] = {};  // [i][x]: these rows' columns 32 i + 8 t + x and 32 i + 8 t + 4 + x

  for (long long key0 = 0; key0 < end; key0 += BN) {
    __pipeline_wait_prior(0);
    __syncthreads();  // K has arrived, and all threads have read the previous V
    copy(Vs, V + key0 * D, keys - key0);
    // scores: s[j] has the keys 8 j + 2 t and 8 j + 2 t + 1 of row `row`, and of row + 8
    float s[4][4] = {}, products[4][4] = {};
#pragma unroll
    for (int i = 0; i < D / 8; i += 2) {
      float4 k[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) k[j] = as4(Ks[(8 * j + g) * kPitch + i / 4 * 32 + t * 8 + i % 4 * 2]);
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const float4 q = query_fragment<kThreads>(Qs, i + x);
        Split<4> a;  // rows g and g + 8 of column t, then of t + 4
        a.set(0, q.x), a.set(1, q.y), a.set(2, q.z), a.set(3, q.w);
        Split<2> b[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) b[j].set(0, (&k[j].x)[2 * x]), b[j].set(1, (&k[j].x)[2 * x + 1]);
        multiply(products, a, b);          // small big, big small, big big: three mma.sync per b
        if (D == 128 && x == 0) continue;  // FP32 additions every D / 8 products: see roundings_3xtf32()
#pragma unroll
        for (int e = 0; e < 16; ++e) s[e / 4][e % 4] += products[e / 4][e % 4], products[e / 4][e % 4] = 0.0f;
      }
    }
    mask_fragments(s, key0, keys, row0, row, t, ahead);
    scores_to_weights(s, max, sum, rescale);
    Split<4> p[4];  // P of key 2 t as column t, of 2 t + 1 as t + 4
#pragma unroll
    for (int e = 0; e < 16; ++e) p[e / 4].set(e % 4 / 2 + e % 2 * 2, s[e / 4][e % 4]);
    __pipeline_wait_prior(0);
    __syncthreads();  // V has arrived, and all threads have read K
    if (key0 + BN < end) copy(Ks, K + (key0 + BN) * D, keys - key0 - BN);
      // O += P V
#pragma unroll
    for (int i = 0; i < D / 32; ++i) {
      float tile[4][4] = {};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const v = &Vs[(8 * j + 2 * t) * kPitch + 32 * i + 4 * g];
        const float4 v0 = as4(v[0]), v1 = as4(v[kPitch]);
        Split<2> b[4];
        // An operand's registers must be adjacent; V's aren't when loaded. The tensor core truncates x itself, so the
        // compiler would copy x next to each half. x + 0.0f is one instruction.
#pragma unroll
        for (int x = 0; x < 4; ++x) b[x].set(0, (&v0.x)[x] + 0.0f), b[x].set(1, (&v1.x)[x] + 0.0f);
        multiply(tile, p[j], b);
      }
#pragma unroll
      for (int e = 0; e < 16; ++e) {
        float& sum_o = o[i][e / 4][e % 4];
        sum_o = rescale[e % 4 / 2] * sum_o + tile[e / 4][e % 4];
      }
    }
  }

  store_fragments<D, kAligned>(o, sum, O + (head * queries + row0) * D, row0, row, t, queries);
}

template <int D>
static void launch_3xtf32_d(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                            std::size_t queries, std::size_t keys, bool causal) {
  const auto kernel = aligned_for<float4>(Q, K, V, O) ? attention_3xtf32<D, true> : attention_3xtf32<D, false>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  const auto grid = static_cast<unsigned>(heads * tiles_m);
  constexpr int bytes = 4 * (2 * BN * (D + 4) + BM * D);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(Q, K, V, O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

static void launch_3xtf32(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                          std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_3xtf32_d<64> : launch_3xtf32_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

// In units of u = 2^-24: a split product is off by 28, an mma.sync onto a sum by 20 (split_tf32.cuh). Scores: one
// mma.sync onto the small products (at D = 128 four), 8 additions, 2 for the scaled Q: 58 at D = 64, 118 at D = 128,
// both below the d + 4 that Attention::tolerance() grants. O: exp (4), multiplication, 30 per 4 keys of a tile; per
// tile exp, multiplication, addition. Row sum: a quarter of the keys, the rescaling, 2 for 4 lanes. Then inverse and
// multiplication.
static std::size_t roundings_3xtf32(std::size_t keys) {
  const std::size_t tiles = ceil_div(keys, BN), products = 28 + 30 * ceil_div(std::min<std::size_t>(keys, BN), 4);
  return 4 + std::max(products, keys / 4 + 2) + 6 * tiles + 2;
}

LADDER_STEP(Attention, launch_3xtf32, roundings_3xtf32);
