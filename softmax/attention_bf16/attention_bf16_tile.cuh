// The online softmax of attention_bf16 02 to 04, on the accumulators of mma.sync and wgmma. A lane holds rows lane / 4
// and lane / 4 + 8 of a warp's 16 rows, and columns 2 (lane % 4) and 2 (lane % 4) + 1 of each 8 columns.
#pragma once
#include "bf16_attention_problem.cuh"
#include "../attention_float4.cuh"  // kScoreScale
#include "tensor_core.cuh"
#include "../online_softmax.cuh"  // group_max, group_sum, shift_for

// Returns 2^x within a factor of 1 + 2^-22, in one instruction (PTX ISA, 9.7.3.21). Subnormal results become 0.
__device__ __forceinline__ float exp2_approx(float x) {
#ifdef CUDA_EMU
  return x < -126.0f ? 0.0f : exp2f(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

// Packs two floats as BF16, the first one in the lower half.
__device__ __forceinline__ unsigned bf16_pair(float first, float second) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
  return reinterpret_cast<const unsigned&>(both);
}

// A thread's two rows of O, not yet divided by their sums. max is the maximum of the scaled scores.
template <int D>
struct Rows {
  float max[2] = {-INFINITY, -INFINITY}, sum[2] = {}, o[D / 8][4] = {};
};

// Returns the last key that query `row` attends to, below 0 if none. `ahead`: keys - queries with the mask, else keys.
__device__ inline int last_key(long long row, long long keys, long long ahead) {
  return static_cast<int>(max(-1024LL, min(keys - 1, row + ahead)));
}

// Sets scores to -inf after key `last` (the thread's first row) or last + 8 (second row), and from key `left` on.
template <int kTiles>
__device__ __forceinline__ void mask_scores(float (&s)[kTiles][4], int last, int left) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int end = min(last + 8 * half + 1, left) - static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        if (j * 8 + x >= end) s[j][half * 2 + x] = -INFINITY;
      }
    }
  }
}

// Turns scores into P, and updates this lane's sum and max. The caller must multiply the rows of o by `rescale`.
template <int D, int kTiles>
__device__ __forceinline__ void scores_to_weights(Rows<D>& rows, float (&s)[kTiles][4], float (&rescale)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float m = -INFINITY;
#pragma unroll
    for (int j = 0; j < kTiles; ++j) m = fmaxf(m, fmaxf(s[j][half * 2], s[j][half * 2 + 1]));
    m = fmaxf(rows.max[half], group_max<4>(m) * kScoreScale<D>);
    const float shift = shift_for(m);
    rescale[half] = exp2_approx(rows.max[half] - shift);
    rows.max[half] = m;
    rows.sum[half] *= rescale[half];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int x = half * 2; x < half * 2 + 2; ++x) {
        s[j][x] = exp2_approx(fmaf(s[j][x], kScoreScale<D>, -shift));
        rows.sum[half] += s[j][x];
      }
    }
  }
}

template <int D>
__device__ __forceinline__ void rescale_rows(Rows<D>& rows, const float (&rescale)[2]) {
#pragma unroll
  for (int c = 0; c < D / 8; ++c) {
#pragma unroll
    for (int x = 0; x < 4; ++x) rows.o[c][x] *= rescale[x / 2];
  }
}

// Packs P of 16 keys as the A operand of O += P V: two neighbouring score tiles form the fragment.
__device__ __forceinline__ void pack_weights(unsigned (&p)[4], const float (&left)[4], const float (&right)[4]) {
  p[0] = bf16_pair(left[0], left[1]);
  p[1] = bf16_pair(left[2], left[3]);
  p[2] = bf16_pair(right[0], right[1]);
  p[3] = bf16_pair(right[2], right[3]);
}

// Adds up a row's sum, divides and stores. O points to the thread's first row; `left` rows exist from there on. kPairs:
// O is 4-byte aligned.
template <int D, bool kPairs>
__device__ __forceinline__ void store_rows(Rows<D>& rows, __nv_bfloat16* O, long long left) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = group_sum<4>(rows.sum[half]), factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    if (half * 8 >= left) continue;
#pragma unroll
    for (int c = 0; c < D / 8; ++c) {
      const float first = factor * rows.o[c][half * 2], second = factor * rows.o[c][half * 2 + 1];
      __nv_bfloat16* o = O + half * 8 * D + c * 8 + threadIdx.x % 4 * 2;
      if constexpr (kPairs) {
        *reinterpret_cast<unsigned*>(o) = bf16_pair(first, second);
      } else {
        o[0] = __float2bfloat16(first);
        o[1] = __float2bfloat16(second);
      }
    }
  }
}

// Roundings of steps 02 and 03, whose tiles have 64 keys or more: exp, MMA; exp and multiplication per rescaling; 4
// lanes; inverse and multiplication.
inline std::size_t tile_roundings(std::size_t keys) {
  return 4 + ceil_div(5 * (keys + 64), 2) + 5 * ceil_div(keys, 64) + 2 + 2;
}
