// Problem:  attention_decode reads 512 bytes per key and KV head, and a long context's cache fills the GPU's memory.
// Idea:     K and V in int8, an FP16 scale per row: 260 bytes. The kernel is attention_decode's split_keys; each lane
//           dequantizes its eight elements in registers, once for all query heads of the group.
// Expect:   1.3 to 1.8x attention_decode 04 at 64x32x1x1024, 0.95 to 1.1x at four heads and more: eight keys are 928
//           instructions at four (SASS; 04: 840), where their bytes leave an H200 450 issue slots.
// Measured: 0.65 of a read at 64x32x1x1024 (H200).
// Next:     eight elements share a scale. How often must it be applied?
#include "attention_decode_int8.cuh"
#include "eight_bytes.cuh"
#include "query_groups.cuh"
#include "../attention_float4.cuh"  // kScoreScale
#include "../split_keys.cuh"

constexpr int kD = 128;
constexpr int kLanes = kD / 8, kKeys = 32 / kLanes;  // lanes per key, keys per load
constexpr int kLoads = 4;
constexpr std::size_t kShortestSplit = 32;  // keys

// x = scale * v
__device__ static void dequantize(float (&x)[8], float scale, uint2 v) {
  to_floats(x, v);
#pragma unroll
  for (float& element : x) element *= scale;
}

// kGroup: the most query heads of a warp.
template <int kGroup, bool kAligned>
__global__ void __launch_bounds__(kSplitThreads)
    decode_int8(const __nv_bfloat16* __restrict__ q, const std::int8_t* __restrict__ K,
                const std::int8_t* __restrict__ V, const int* __restrict__ lengths, const __half* __restrict__ k_scales,
                const __half* __restrict__ v_scales, float* __restrict__ out, Splits splits, std::size_t sequences,
                std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t warp = std::size_t{blockIdx.x} * kSplitWarps + threadIdx.x / 32, tiles = ceil_div(groups, kGroup);
  const std::size_t unit = warp / splits.count, sequence = unit / tiles / kv_heads, kv_head = unit / tiles % kv_heads;
  if (sequence >= sequences) return;  // the whole warp
  const std::size_t first = unit % tiles * kGroup, row = (sequence * kv_heads + kv_head) * groups + first;
  const int half = threadIdx.x % 32 / kLanes, column = threadIdx.x % kLanes * 8;
  const std::size_t first_key = (sequence * keys * kv_heads + kv_head) * kD + column;
  const std::size_t first_scale = (sequence * kv_heads + kv_head) * keys;
  float query[kGroup][8], o[kGroup][8] = {}, max[kGroup], sum[kGroup] = {};
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    scaled(query[g], kScoreScale<kD>, first + g < groups ? load8<kAligned>(q + (row + g) * kD + column) : uint4{});
    max[g] = -INFINITY;
  }

  const long long begin = warp % splits.count * splits.keys;
  const int end = static_cast<int>(min(begin + splits.keys, static_cast<long long>(lengths[sequence])));
  for (long long key0 = begin; key0 < end; key0 += kLoads * kKeys) {
    uint2 k[kLoads], v[kLoads];
    float k_scale[kLoads], v_scale[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const long long key = key0 + i * kKeys + half;
      const std::size_t at = first_key + key * kv_heads * kD;
      k[i] = key < end ? load8<kAligned>(K + at) : uint2{};
      v[i] = key < end ? load8<kAligned>(V + at) : uint2{};
      k_scale[i] = key < end ? __half2float(k_scales[first_scale + key]) : 0.0f;
      v_scale[i] = key < end ? __half2float(v_scales[first_scale + key]) : 0.0f;
    }
    float s[kGroup][kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      float x[8];
      dequantize(x, k_scale[i], k[i]);
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
        s[g][i] = group_sum<kLanes>(dot(query[g], x));
        if (key0 + i * kKeys + half >= end) s[g][i] = -INFINITY;
      }
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float new_max = max[g];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) new_max = fmaxf(new_max, s[g][i]);
      const float shift = shift_for(new_max), rescale = exp2f(max[g] - shift);
      max[g] = new_max;
      sum[g] *= rescale;
#pragma unroll
      for (float& x : o[g]) x *= rescale;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum[g] += s[g][i] = exp2f(s[g][i] - shift);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      float x[8];
      dequantize(x, v_scale[i], v[i]);
#pragma unroll
      for (int g = 0; g < kGroup; ++g) {
#pragma unroll
        for (int c = 0; c < 8; ++c) o[g][c] += s[g][i] * x[c];
      }
    }
  }

#pragma unroll
  for (int g = 0; g < kGroup; ++g) {  // merge the keys of both halves of the warp; each stores half of the columns
    const float most = fmaxf(max[g], __shfl_xor_sync(0xffffffff, max[g], kLanes));
    const float rescale = exp2f(max[g] - shift_for(most));
    const auto both = [&](float x) { return rescale * x + __shfl_xor_sync(0xffffffff, rescale * x, kLanes); };
    const float all = both(sum[g]), factor = splits.count == 1 ? inverse(all) : 1.0f;
#pragma unroll
    for (float& x : o[g]) x = factor * both(x);
    if (first + g >= groups) continue;
    const float4 mine = half == 0 ? float4{o[g][0], o[g][1], o[g][2], o[g][3]}  //
                                  : float4{o[g][4], o[g][5], o[g][6], o[g][7]};
    if (splits.count == 1) {
      store4<kAligned>(out + (row + g) * kD + column + 4 * half, mine);
      continue;
    }
    const std::size_t at = (row + g) * splits.count + warp % splits.count;
    as4(splits.outputs[at * kD + column + 4 * half]) = mine;
    if (threadIdx.x % 32 == 0) splits.pairs[at] = {most, all};
  }
}

static void launch(const __nv_bfloat16* q, const std::int8_t* K, const std::int8_t* V, const int* lengths,
                   const __half* k_scales, const __half* v_scales, float* out, std::size_t sequences,
                   std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  if (sequences * kv_heads * groups == 0) return;
  const bool aligned = aligned_for<uint4>(q, K, V, out);
  with_group(groups, [&](auto group) {
    const std::size_t units = sequences * kv_heads * ceil_div(groups, group()), rows = sequences * kv_heads * groups;
    const auto kernel = aligned ? decode_int8<group(), true> : decode_int8<group(), false>;
    const Splits splits = split_keys<kD>(kernel, units, rows, keys, kShortestSplit);
    kernel<<<static_cast<unsigned>(ceil_div(units * splits.count, kSplitWarps)), kSplitThreads>>>(
        q, K, V, lengths, k_scales, v_scales, out, splits, sequences, kv_heads, groups, keys);
    CUDA_CHECK(cudaGetLastError());
    (aligned ? merge_splits<kD, true, float> : merge_splits<kD, false, float>)(splits, out, rows);
  });
}

LADDER_STEP(AttentionDecodeInt8, launch);
