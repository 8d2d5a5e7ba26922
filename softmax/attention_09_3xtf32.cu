// Problem:  step 08 uses the FFMA units about as well as it can. mma.sync multiplies TF32 at 5 times their rate, but
//           TF32 has 11 significant bits, and FP32 has 24.
// Idea:     3xTF32: x = big + small, both TF32, and a b = big big + big small + small big; 2^-20 of it is left out. A
//           warp owns 16 queries; the scores' accumulators become the first operand of the second product.
// Expect:   1.3 to 1.8x step 08. mma.sync alone allows 106 TFLOP/s, a third of its TF32 rate, and 10 to 13 other
//           instructions share the issue slots with each three of them.
// Measured: 1.40x step 08, 57.8 TFLOP/s at 2048x2048 (H200).
// Next:     with BF16 inputs one product is enough. What is the limit then?
// needs: sm_80
#include "attention.cuh"
#include "attention_tile.cuh"  // as4, load4, store4
#include "tensor_core.cuh"

#include <cuda_pipeline.h>

constexpr int kThreads = 128, BM = kThreads / 2, BN = 32;  // 16 rows per warp

// A fragment of mma.sync.m16n8k8, split. small has 13 bits; the tensor core cuts it off to TF32's 11.
template <int kRegisters>
struct Split {
  unsigned big[kRegisters], small[kRegisters];
  __device__ void set(int i, float x) {
    big[i] = __float_as_uint(x) & 0xffffe000u;
    small[i] = __float_as_uint(x - __uint_as_float(big[i]));  // exact
  }
};

// sum[x] += a b[x] for four fragments b, so that each mma.sync has three others to run beside. The small products come
// first: beside a large sum an mma.sync cuts off more of them.
__device__ inline void multiply(float (&sum)[4][4], const Split<4>& a, const Split<2> (&b)[4]) {
#pragma unroll
  for (int x = 0; x < 4; ++x) mma_m16n8k8_tf32(sum[x], a.small, b[x].big[0], b[x].big[1]);
#pragma unroll
  for (int x = 0; x < 4; ++x) mma_m16n8k8_tf32(sum[x], a.big, b[x].small[0], b[x].small[1]);
#pragma unroll
  for (int x = 0; x < 4; ++x) mma_m16n8k8_tf32(sum[x], a.big, b[x].big[0], b[x].big[1]);
}

// Which lane has what (g = lane / 4, t = lane % 4). An mma.sync adds up 8 products, and in which order is free, as long
// as both operands agree. Where it speaks of columns t and t + 4 of A, and so of rows t and t + 4 of B,
//   Q K^T takes two neighbours of the dimensions 8 t to 8 t + 7 of each 32, so that a float4 of K serves two mma.sync;
//   P V takes the keys 2 t and 2 t + 1: those whose scores the lane has, so that P needs no exchange.
// Columns of O are numbered freely, too: fragment x has column 4 g + x of each 32, so that a float4 of V serves four.
// Rows of K and V are D + 4 floats apart. Eight lanes at a time read a float4: of K from chunks 2 t of rows g, 8 t + 4 g
// words apart, of V from chunks g of rows 2 t, 8 t + 4 g, too (mod 32): each bank once.
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
  const long long row0 = static_cast<long long>(tiles_m - 1 - blockIdx.x / heads) * BM;  // the longest first
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long end = min(keys, row0 + BM + ahead);      // no query of the block goes further
  Q += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;

  // Starts copying BN rows from `from`, of which `left` exist; the others become 0.
  const int copy_row = tid / (D / 4), copy_col = tid % (D / 4) * 4;
  constexpr int kCopyRows = kThreads / (D / 4), kCopied = kAligned ? 4 : 1;  // rows at a time, floats per copy
  const auto copy = [&](float* to, const float* from, long long left) {
    to += copy_row * kPitch + copy_col;
    from += copy_row * D + copy_col;
    if (left >= BN) {  // without a test for each copy
#pragma unroll
      for (int r = 0; r < BN; r += kCopyRows) {
#pragma unroll
        for (int x = 0; x < 4; x += kCopied)
          __pipeline_memcpy_async(to + r * kPitch + x, from + r * D + x, 4 * kCopied);
      }
    } else {
      for (int r = 0; r < BN; r += kCopyRows) {
        for (int x = 0; x < 4; x += kCopied) {
          const bool inside = copy_row + r < left;
          __pipeline_memcpy_async(to + r * kPitch + x, inside ? from + r * D + x : K, 4 * kCopied,
                                  inside ? 0 : 4 * kCopied);
        }
      }
    }
    __pipeline_commit();
  };
  if (end > 0) copy(Ks, K, keys);

  // Each thread keeps its own fragments of log2(e) / sqrt(D) Q in shared memory: in registers they would spill.
  constexpr float factor = static_cast<float>(1.4426950408889634 / (D == 64 ? 8.0 : 11.313708498984761));
  const auto place = [&](int i) -> float4& { return as4(Qs[(i * kThreads + tid) * 4]); };
  const auto query = [&](int r, int c) {  // four elements from dimension 8 t + c on, times factor
    if (row0 + row + r >= queries) return float4{};
    const float4 q = load4<kAligned>(Q + ((row + r) * D + t * 8 + c));
    return float4{factor * q.x, factor * q.y, factor * q.z, factor * q.w};
  };
#pragma unroll
  for (int i = 0; i < D / 8; i += 2) {
    const int c = i / 4 * 32 + i % 4 * 2;
    const float4 q0 = query(0, c), q8 = query(8, c);
    place(i) = {q0.x, q8.x, q0.y, q8.y};
    place(i + 1) = {q0.z, q8.z, q0.w, q8.w};
  }
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {}, rescale[2];  // of rows `row` and row + 8
  float o[D / 32][4][4] = {};  // [i][x]: the rows' columns 32 i + 8 t + x and 32 i + 8 t + 4 + x

  for (long long key0 = 0; key0 < end; key0 += BN) {
    __pipeline_wait_prior(0);
    __syncthreads();  // K is here, and all have read the last V
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
        const float4 q = place(i + x);
        Split<4> a;
        a.set(0, q.x), a.set(1, q.y), a.set(2, q.z), a.set(3, q.w);
        Split<2> b[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) b[j].set(0, (&k[j].x)[2 * x]), b[j].set(1, (&k[j].x)[2 * x + 1]);
        multiply(products, a, b);
        if (D == 128 && x == 0) continue;  // FP32 additions every D / 8 products: see roundings()
#pragma unroll
        for (int e = 0; e < 16; ++e) s[e / 4][e % 4] += products[e / 4][e % 4], products[e / 4][e % 4] = 0.0f;
      }
    }
    if (key0 + BN > min(keys, row0 + ahead + 1)) {  // for the first row of the block, so for some row
#pragma unroll
      for (int e = 0; e < 16; ++e) {
        const long long key = key0 + e / 4 * 8 + 2 * t + e % 2;
        if (key > min(keys - 1, row0 + row + e % 4 / 2 * 8 + ahead)) s[e / 4][e % 4] = -INFINITY;
      }
    }
    // online softmax
    Split<4> p[4];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float m = max[r];
#pragma unroll
      for (int j = 0; j < 4; ++j) m = fmaxf(m, fmaxf(s[j][2 * r], s[j][2 * r + 1]));
      m = group_max<4>(m);
      const float shift = shift_for(m);
      rescale[r] = exp2f(max[r] - shift);
      max[r] = m;
      sum[r] *= rescale[r];  // this lane's keys; the lanes' sums are added at the end
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const float weight = exp2f(s[e / 2][2 * r + e % 2] - shift);
        sum[r] += weight;
        p[e / 2].set(r + e % 2 * 2, weight);
      }
    }
    __pipeline_wait_prior(0);
    __syncthreads();  // V is here, and all have read K
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
        // The halves of a pair lie in two registers side by side; those of K do when loaded, those of V do not. The
        // tensor core needs no big part, it cuts x off itself: the compiler knows, and would copy x next to its other
        // half, twice. x + 0.0f is one instruction.
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

  // store
  O += (head * queries + row0) * D;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float total = group_sum<4>(sum[r]), f = total == 0.0f ? 0.0f : 1.0f / total;
    if (row0 + row + 8 * r >= queries) continue;
#pragma unroll
    for (int i = 0; i < D / 16; ++i) {
      const auto& from = o[i / 2];
      const int e = 2 * r + i % 2;
      // row * D + 8 t, written in another way than for Q: the compiler would keep it during the loop, and spill it
      store4<kAligned>(O + (8 * (row * (D / 8) + t) + 8 * r * D + i / 2 * 32 + i % 2 * 4),
                       {f * from[0][e], f * from[1][e], f * from[2][e], f * from[3][e]});
    }
  }
}

template <int D>
static void launch_d(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                     std::size_t keys, bool causal) {
  const auto kernel = aligned_for<float4>(Q, K, V, O) ? attention_3xtf32<D, true> : attention_3xtf32<D, false>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, BM));
  const auto grid = static_cast<unsigned>(heads * tiles_m);
  constexpr int bytes = 4 * (2 * BN * (D + 4) + BM * D);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, kThreads, bytes>>>(Q, K, V, O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_d<64> : launch_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

// In units of u = 2^-24, for numbers of 2^-115 and more, below which TF32 has fewer bits for small:
// A product of split numbers is off by 28: 16 for small small, less than 2^-10 of each factor, and 6 for each small, of
// whose 13 bits TF32 keeps 11. An mma.sync onto a sum loses 2.5 for each of its 8 products (tensor_core_error.cuh), 20.
// Scores: onto the small products one mma.sync, at D = 128 four onto these and each other, then D / 8 or D / 16
// additions, and 2 for the scaled Q: 28 + 20 + 8 + 2 = 58 at D = 64, 28 + 80 + 8 + 2 = 118 at D = 128. Both are below
// the d + 4 that Attention::tolerance() has for FP32 in any order.
// O: exp (4), the product, 30 for each 4 keys of a tile; for each tile exp, product and addition of the rescaling. The
// sum of the weights: a quarter of the keys, the rescaling, 2 for the sums of 4 lanes. The inverse and its product.
static std::size_t roundings(std::size_t keys) {
  const std::size_t tiles = ceil_div(keys, BN), products = 28 + 30 * ceil_div(std::min<std::size_t>(keys, BN), 4);
  return 4 + std::max(products, keys / 4 + 2) + 6 * tiles + 2;
}

LADDER_STEP(Attention, launch, roundings);
