// Problem:  in step 02 a warp loads 512 bytes, 2 per lane and load, and waits: one key per round trip to DRAM.
// Idea:     16-byte loads, several in flight. 16 lanes hold a row of K, so a warp takes two keys per load. Four such
//           loads of K and four of V are issued before the first is used. The maximum changes once for four keys.
// Expect:   3 to 6x step 02 at 64x8x4x4096: 4 KB in flight per warp. 512 warps hold 16 KB per SM of 132; Little's law
//           needs about 33 (900 ns at 4.8 TB/s), so about half of a read.
// Measured: 4.72x step 02, 0.43 of a read at 64x8x4x4096 (H200).
// Next:     a single sequence with 8 KV heads is 8 warps. How does it fill 132 SMs?
#include "attention_decode.cuh"
#include "query_groups.cuh"
#include "eight_columns.cuh"
#include "../attention_float4.cuh"  // kScoreScale
#include "../split_keys.cuh"        // inverse, store4

constexpr int kD = 128, kWarps = 4;
constexpr int kLanes = kD / 8, kKeys = 32 / kLanes;  // lanes per key, keys per load
constexpr int kLoads = 4;

// kGroup: the most query heads of a warp.
template <int kGroup, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    decode_wide(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
                const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths, float* __restrict__ out,
                std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  const std::size_t warp = std::size_t{blockIdx.x} * kWarps + threadIdx.x / 32, tiles = ceil_div(groups, kGroup);
  const std::size_t sequence = warp / tiles / kv_heads, kv_head = warp / tiles % kv_heads;
  if (sequence >= sequences) return;  // the whole warp
  const std::size_t first = warp % tiles * kGroup, row = (sequence * kv_heads + kv_head) * groups + first;
  const int half = threadIdx.x % 32 / kLanes, column = threadIdx.x % kLanes * 8;
  const std::size_t first_key = (sequence * keys * kv_heads + kv_head) * kD + column;
  float query[kGroup][8], o[kGroup][8] = {}, max[kGroup], sum[kGroup] = {};
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    scaled(query[g], kScoreScale<kD>, first + g < groups ? load8<kAligned>(q + (row + g) * kD + column) : uint4{});
    max[g] = -INFINITY;
  }

  const int length = lengths[sequence];
  for (int key0 = 0; key0 < length; key0 += kLoads * kKeys) {
    uint4 k[kLoads], v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = key0 + i * kKeys + half;
      const std::size_t at = first_key + key * kv_heads * kD;
      k[i] = key < length ? load8<kAligned>(K + at) : uint4{};
      v[i] = key < length ? load8<kAligned>(V + at) : uint4{};
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float s[kLoads], new_max = max[g];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        s[i] = group_sum<kLanes>(dot(query[g], k[i]));
        if (key0 + i * kKeys + half >= length) s[i] = -INFINITY;
        new_max = fmaxf(new_max, s[i]);
      }
      const float shift = shift_for(new_max), rescale = exp2f(max[g] - shift);
      max[g] = new_max;
      sum[g] *= rescale;
#pragma unroll
      for (float& x : o[g]) x *= rescale;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const float p = exp2f(s[i] - shift);
        sum[g] += p;
        add(o[g], p, v[i]);
      }
    }
  }

#pragma unroll
  for (int g = 0; g < kGroup; ++g) {  // merge the keys of both halves of the warp; each stores half of the columns
    const float rescale = exp2f(max[g] - shift_for(fmaxf(max[g], __shfl_xor_sync(0xffffffff, max[g], kLanes))));
    const auto both = [&](float x) { return rescale * x + __shfl_xor_sync(0xffffffff, rescale * x, kLanes); };
    const float factor = inverse(both(sum[g]));
#pragma unroll
    for (float& x : o[g]) x = factor * both(x);
    if (first + g >= groups) continue;
    const float4 mine = half == 0 ? float4{o[g][0], o[g][1], o[g][2], o[g][3]}  //
                                  : float4{o[g][4], o[g][5], o[g][6], o[g][7]};
    store4<kAligned>(out + (row + g) * kD + column + 4 * half, mine);
  }
}

static void launch(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                   float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups, std::size_t keys) {
  if (sequences * kv_heads * groups == 0) return;
  const bool aligned = aligned_for<uint4>(q, K, V, out);
  with_group(groups, [&](auto group) {
    const std::size_t warps = sequences * kv_heads * ceil_div(groups, group());
    const auto kernel = aligned ? decode_wide<group(), true> : decode_wide<group(), false>;
    kernel<<<static_cast<unsigned>(ceil_div(warps, kWarps)), 32 * kWarps>>>(q, K, V, lengths, out, sequences, kv_heads,
                                                                            groups, keys);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(AttentionDecode, launch);
