// Problem:  step 06 loads its tiles word by word, waits for them, and loads 12 words for 32 multiply-adds of a score.
// Idea:     float4 everywhere: 4 dimensions of a row, 4 keys of the weights. cp.async copies V during the first product
//           and the next K during the second. Two blocks per SM, tiles of 64 keys; 1 / sqrt(d) and log2(e) go into Q.
// Expect:   1.5 to 2x step 06: 16 loads for 256 multiply-adds of 8 x 8, and one block computes while the other waits.
// Measured: 1.92x step 06, 41.6 TFLOP/s at 2048x2048 (H200).
// Why:      the FMA pipe is busy for two thirds of the time. The rest: other instructions, and dispatch stalls, for
//           which two operands of an FFMA in one register bank may be the reason (hypothesis).
// Next:     which share of the time do the exps take, and what could run beside them?
#include "attention.cuh"
#include "online.cuh"  // group_max, group_sum, shift_for

#include <cuda_pipeline.h>

// p as the first of four floats; its address must be a multiple of 16 bytes.
__device__ static float4& as4(float& p) { return reinterpret_cast<float4&>(p); }

// The lanes of a warp form rows of kLanes. A thread has kRows rows, kRowStep apart, of the scores and of O, kKeys keys of
// each tile, kLanes apart, and kQuads groups of four neighbouring columns of O. !kLarge: for few queries, and for GPUs
// with less shared memory per block than two large blocks take on an sm_90.
template <int D, bool kLarge>
struct Shape {
  static constexpr int kLanes = D / 8, kRows = 8, kRowStep = 32 / kLanes;
  static constexpr int kWarps = kLarge ? 4 : 2, kThreads = 32 * kWarps, kBlocks = kLarge ? 2 : 1;
  static constexpr int BM = kWarps * kRowStep * kRows, BN = kLarge ? 64 : 32;
  static constexpr int kKeys = BN / kLanes, kQuads = D / kLanes / 4;
  static constexpr int kPitch = D + 4;  // floats from row to row of K
  static constexpr int kBytes = 4 * (BM * D + BN * kPitch + BN * D + BM * BN);
};

// kCopyFloats: floats per copy; 4 where all rows are 16-byte aligned, else 1.
template <int D, bool kLarge, int kCopyFloats>
__global__ void __launch_bounds__(Shape<D, kLarge>::kThreads, Shape<D, kLarge>::kBlocks)
    attention_tuned(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                    float* __restrict__ O, unsigned heads, unsigned tiles_m, long long queries, long long keys,
                    bool causal) {
  using S = Shape<D, kLarge>;
  constexpr int kLanes = S::kLanes, kRows = S::kRows, kRowStep = S::kRowStep, kKeys = S::kKeys, kQuads = S::kQuads;
  constexpr int BM = S::BM, BN = S::BN, kPitch = S::kPitch;
  extern __shared__ float4 smem[];
  float *const Qs = &smem->x, *const Ks = Qs + BM * D, *const Vs = Ks + BN * kPitch, *const Ps = Vs + BN * D;
  const int tid = threadIdx.x, col = tid % kLanes, row = tid / 32 * kRowStep * kRows + tid % 32 / kLanes;
  const std::size_t head = blockIdx.x % heads;
  const long long row0 = static_cast<long long>(tiles_m - 1 - blockIdx.x / heads) * BM;  // the longest first
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long end = min(keys, row0 + BM + ahead);      // no query of the block goes further
  Q += (head * queries + row0) * D;
  O += (head * queries + row0) * D;
  K += head * keys * D;
  V += head * keys * D;

  // No bank conflicts, as in transpose 06: the kRowStep rows that a warp reads at once have their groups of four floats of
  // Q, and of kLanes weights, in different orders.
  const int turn_q = row % kRowStep * 4, turn_p = row % kRowStep * kLanes;

  // Starts copying `rows` rows, of which `left` exist; the others become 0. Four floats in column c of row r go to column
  // c ^ (r % turns * 4). A thread copies kCopyFloats columns of a row, and every kStep elements further on.
  constexpr unsigned kStep = S::kThreads * kCopyFloats;
  const unsigned copy_row = threadIdx.x * kCopyFloats / D, copy_col = threadIdx.x * kCopyFloats % D;
  const auto place = [&](unsigned e, unsigned pitch, unsigned turns) {
    const unsigned r = copy_row + e / D;
    return r * pitch + ((copy_col + e % D) ^ (r % turns * 4));
  };
  const auto copy = [&](float* to, unsigned pitch, unsigned turns, const float* from, unsigned rows, long long left) {
    from += copy_row * D + copy_col;
    if (left >= rows) {
#pragma unroll
      for (unsigned e = 0; e < rows * D; e += kStep) {
        __pipeline_memcpy_async(to + place(e, pitch, turns), from + e, 4 * kCopyFloats);
      }
    } else {
      for (unsigned e = 0; e < rows * D; e += kStep) {
        const bool inside = copy_row + e / D < left;
        __pipeline_memcpy_async(to + place(e, pitch, turns), inside ? from + e : K, 4 * kCopyFloats,
                                inside ? 0 : 4 * kCopyFloats);
      }
    }
    __pipeline_commit();
  };

  float max[kRows], sum[kRows], o[kRows][4 * kQuads] = {};
#pragma unroll
  for (int i = 0; i < kRows; ++i) max[i] = -INFINITY, sum[i] = 0.0f;
  if (end > 0) {
    copy(Qs, D, kRowStep, Q, BM, queries - row0);
    copy(Ks, kPitch, 1, K, BN, keys);
    __pipeline_wait_prior(1);
    // q . k log2(e) / sqrt(d) is what exp2 takes; a thread scales what it has copied itself
    constexpr float factor = static_cast<float>(1.4426950408889634 / (D == 64 ? 8.0 : 11.313708498984761));
    for (unsigned e = 0; e < BM * D; e += kStep) {
#pragma unroll
      for (int x = 0; x < kCopyFloats; ++x) Qs[place(e, D, kRowStep) + x] *= factor;
    }
  }

  for (long long key0 = 0; key0 < end; key0 += BN) {
    __pipeline_wait_prior(0);
    __syncthreads();  // K is here, and all have read the last V
    copy(Vs, D, 1, V + key0 * D, BN, keys - key0);
    // scores
    float s[kRows][kKeys] = {};
#pragma unroll 2
    for (int c = 0; c < D; c += 4) {
      float4 q[kRows], k[kKeys];
#pragma unroll
      for (int i = 0; i < kRows; ++i) q[i] = as4(Qs[(row + i * kRowStep) * D + (c ^ turn_q)]);
#pragma unroll
      for (int j = 0; j < kKeys; ++j) k[j] = as4(Ks[(col + j * kLanes) * kPitch + c]);
#pragma unroll
      for (int x = 0; x < 4; ++x) {
#pragma unroll
        for (int j = 0; j < kKeys; ++j) {
#pragma unroll
          for (int i = 0; i < kRows; ++i) s[i][j] += (&q[i].x)[x] * (&k[j].x)[x];
        }
      }
    }
    // mask
    if (key0 + BN > min(keys, row0 + ahead + 1)) {  // it cuts the first row's keys, so some row's
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const long long last = min(keys - 1, row0 + row + i * kRowStep + ahead);  // key that the row attends to
#pragma unroll
        for (int j = 0; j < kKeys; ++j) {
          if (key0 + col + j * kLanes > last) s[i][j] = -INFINITY;
        }
      }
    }
    // online softmax
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      float m = max[i];
#pragma unroll
      for (int j = 0; j < kKeys; ++j) m = fmaxf(m, s[i][j]);
      m = group_max<kLanes>(m);
      const float shift = shift_for(m), rescale = exp2f(max[i] - shift);
      max[i] = m;
      sum[i] *= rescale;  // this lane's keys; the lanes' sums are added at the end
#pragma unroll
      for (int j = 0; j < kKeys; ++j) {
        const float p = exp2f(s[i][j] - shift);
        sum[i] += p;
        Ps[(row + i * kRowStep) * BN + ((col + j * kLanes) ^ turn_p)] = p;
      }
#pragma unroll
      for (int c = 0; c < 4 * kQuads; ++c) o[i][c] *= rescale;
    }
    __pipeline_wait_prior(0);
    __syncthreads();  // V is here, and all have read K
    if (key0 + BN < end) copy(Ks, kPitch, 1, K + (key0 + BN) * D, BN, keys - key0 - BN);
      // O += P V
#pragma unroll 2
    for (int j = 0; j < BN; j += 4) {
      float4 p[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) p[i] = as4(Ps[(row + i * kRowStep) * BN + (j ^ turn_p)]);
#pragma unroll
      for (int x = 0; x < 4; ++x) {
#pragma unroll
        for (int c = 0; c < kQuads; ++c) {
          const float4 v = as4(Vs[(j + x) * D + (c * kLanes + col) * 4]);
#pragma unroll
          for (int i = 0; i < kRows; ++i) {
            const float w = (&p[i].x)[x];
            o[i][4 * c] += w * v.x, o[i][4 * c + 1] += w * v.y, o[i][4 * c + 2] += w * v.z, o[i][4 * c + 3] += w * v.w;
          }
        }
      }
    }
  }

  // store
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    sum[i] = group_sum<kLanes>(sum[i]);
    const int r = row + i * kRowStep;
    if (row0 + r >= queries) continue;
    const float factor = sum[i] == 0.0f ? 0.0f : 1.0f / sum[i];
#pragma unroll
    for (int c = 0; c < kQuads; ++c) {
      float* to = O + r * D + (c * kLanes + col) * 4;
      const float4 v = make_float4(o[i][4 * c] * factor, o[i][4 * c + 1] * factor, o[i][4 * c + 2] * factor,
                                   o[i][4 * c + 3] * factor);
      if constexpr (kCopyFloats == 4) {
        as4(*to) = v;
      } else {
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
      }
    }
  }
}

template <int D, bool kLarge>
static void launch_shape(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                         std::size_t queries, std::size_t keys, bool causal) {
  using S = Shape<D, kLarge>;
  const auto kernel = aligned_for<float4>(Q, K, V, O) ? attention_tuned<D, kLarge, 4> : attention_tuned<D, kLarge, 1>;
  const auto tiles_m = static_cast<unsigned>(ceil_div(queries, S::BM));
  const auto grid = static_cast<unsigned>(heads * tiles_m);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kBytes));
  kernel<<<grid, S::kThreads, S::kBytes>>>(Q, K, V, O, static_cast<unsigned>(heads), tiles_m, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
}

template <int D>
static void launch_d(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                     std::size_t keys, bool causal) {
  const int most_shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const bool large = queries > Shape<D, false>::BM && most_shared >= Shape<D, true>::kBytes;
  (large ? launch_shape<D, true> : launch_shape<D, false>)(Q, K, V, O, heads, queries, keys, causal);
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  (d == 64 ? launch_d<64> : launch_d<128>)(Q, K, V, O, heads, queries, keys, causal);
}

// exp, product and addition for each key, exp and product for each tile's rescaling; the sums of 16 lanes; the inverse
// and its product.
static std::size_t roundings(std::size_t keys) { return 4 + 2 * keys + 5 * ceil_div(keys, 32) + 4 + 2; }

LADDER_STEP(Attention, launch, roundings);
