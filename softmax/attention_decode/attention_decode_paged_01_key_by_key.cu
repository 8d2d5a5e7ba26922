// Problem:  a cache of `keys` tokens per sequence is mostly empty: an answer's length is not known in advance.
// Idea:     pages. A sequence owns pages of 16 to 256 tokens anywhere in memory, and a table says which. The kernel is
//           attention_decode 04's; only the address of a key changes: page = table[j / page_size].
// Expect:   0.6 to 0.9 of attention_decode 04. A page is longer than a sector, so DRAM moves the same bytes; but every
//           key's load waits for a load of the table, and divides by a number that the compiler doesn't know.
// Measured: 0.41 of a read at 64x4096 (H200).
// Next:     a warp's eight keys lie in one page. How often must it read the table?
#include "attention_decode_paged.cuh"
#include "query_groups.cuh"
#include "eight_columns.cuh"
#include "../attention_float4.cuh"  // kScoreScale
#include "../split_keys.cuh"

constexpr int kD = 128;
constexpr int kLanes = kD / 8, kKeys = 32 / kLanes;  // lanes per key, keys per load
constexpr int kLoads = 4;
constexpr std::size_t kShortestSplit = 32;  // keys

// kGroup: the most query heads of a warp.
template <int kGroup, bool kAligned>
__global__ void __launch_bounds__(kSplitThreads)
    decode_pages(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
                 const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths, const int* __restrict__ table,
                 float* __restrict__ out, Splits splits, std::size_t sequences, std::size_t kv_heads,
                 std::size_t groups, std::size_t width, std::size_t page_size) {
  const std::size_t warp = std::size_t{blockIdx.x} * kSplitWarps + threadIdx.x / 32, tiles = ceil_div(groups, kGroup);
  const std::size_t unit = warp / splits.count, sequence = unit / tiles / kv_heads, kv_head = unit / tiles % kv_heads;
  if (sequence >= sequences) return;  // the whole warp
  const std::size_t first = unit % tiles * kGroup, row = (sequence * kv_heads + kv_head) * groups + first;
  const int half = threadIdx.x % 32 / kLanes, column = threadIdx.x % kLanes * 8;
  float query[kGroup][8], o[kGroup][8] = {}, max[kGroup], sum[kGroup] = {};
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    scaled(query[g], kScoreScale<kD>, first + g < groups ? load8<kAligned>(q + (row + g) * kD + column) : uint4{});
    max[g] = -INFINITY;
  }

  const long long begin = warp % splits.count * splits.keys;
  const int end = static_cast<int>(min(begin + splits.keys, static_cast<long long>(lengths[sequence])));
  for (long long key0 = begin; key0 < end; key0 += kLoads * kKeys) {
    uint4 k[kLoads], v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const long long key = key0 + i * kKeys + half;
      const int page = key < end ? table[sequence * width + key / page_size] : 0;
      const std::size_t token = page * page_size + key % page_size, at = (token * kv_heads + kv_head) * kD + column;
      k[i] = key < end ? load8<kAligned>(K + at) : uint4{};
      v[i] = key < end ? load8<kAligned>(V + at) : uint4{};
    }
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float s[kLoads], new_max = max[g];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        s[i] = group_sum<kLanes>(dot(query[g], k[i]));
        if (key0 + i * kKeys + half >= end) s[i] = -INFINITY;
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

static void launch(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                   const int* table, float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups,
                   std::size_t width, std::size_t page_size) {
  if (sequences * kv_heads * groups == 0) return;
  const bool aligned = aligned_for<uint4>(q, K, V, out);
  with_group(groups, [&](auto group) {
    const std::size_t units = sequences * kv_heads * ceil_div(groups, group()), rows = sequences * kv_heads * groups;
    const auto kernel = aligned ? decode_pages<group(), true> : decode_pages<group(), false>;
    const Splits splits = split_keys<kD>(kernel, units, rows, width * page_size, kShortestSplit);
    kernel<<<static_cast<unsigned>(ceil_div(units * splits.count, kSplitWarps)), kSplitThreads>>>(
        q, K, V, lengths, table, out, splits, sequences, kv_heads, groups, width, page_size);
    CUDA_CHECK(cudaGetLastError());
    (aligned ? merge_splits<kD, true, float> : merge_splits<kD, false, float>)(splits, out, rows);
  });
}

LADDER_STEP(AttentionDecodePaged, launch);
