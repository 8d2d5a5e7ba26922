// Problem:  step 01 reads the table for every key, and only then can it load the key: two round trips in a row.
// Idea:     one table read per round of eight keys, which lie in one page since splits begin at multiples of 16. It is
//           issued a round ahead, so the page number is there when the keys are loaded. A shift replaces the division.
// Expect:   0.95 to 1.0 of attention_decode 04: 4 bytes of the table for 4096 of K and V, and nothing waits for them.
// Measured: 1.60x step 01, 0.66 of a read at 64x4096 (H200).
// Next:     two sequences share a prompt's pages. How could these be read only once?
#include "attention_decode_paged.cuh"
#include "query_groups.cuh"
#include "eight_columns.cuh"
#include "../attention_float4.cuh"  // kScoreScale
#include "../split_keys.cuh"

constexpr int kD = 128;
constexpr int kLanes = kD / 8, kKeys = 32 / kLanes;  // lanes per key, keys per load
constexpr int kLoads = 4;
constexpr std::size_t kShortestSplit = 32;  // keys
constexpr int kSmallestPage = 16;           // a multiple of a round's kLoads * kKeys

// kGroup: the most query heads of a warp.
template <int kGroup, bool kAligned>
__global__ void __launch_bounds__(kSplitThreads)
    decode_pages_ahead(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ K,
                       const __nv_bfloat16* __restrict__ V, const int* __restrict__ lengths,
                       const int* __restrict__ table, float* __restrict__ out, Splits splits, std::size_t sequences,
                       std::size_t kv_heads, std::size_t groups, std::size_t width, std::size_t page_size) {
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
  const int* const pages = table + sequence * width;
  const int shift_of_page = 31 - __clz(static_cast<int>(page_size));
  int page = begin < end ? pages[begin >> shift_of_page] : 0;
  for (long long key0 = begin; key0 < end; key0 += kLoads * kKeys) {
    const std::size_t token0 = page * page_size + (key0 & (page_size - 1));
    const long long next = key0 + kLoads * kKeys;
    if (next < end) page = pages[next >> shift_of_page];
    uint4 k[kLoads], v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const long long key = key0 + i * kKeys + half;
      const std::size_t at = ((token0 + i * kKeys + half) * kv_heads + kv_head) * kD + column;
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
    const auto kernel = aligned ? decode_pages_ahead<group(), true> : decode_pages_ahead<group(), false>;
    Splits splits = split_keys<kD>(kernel, units, rows, width * page_size, kShortestSplit);
    splits.keys = ceil_div(splits.keys, kSmallestPage) * kSmallestPage;  // so that no round spans two pages
    kernel<<<static_cast<unsigned>(ceil_div(units * splits.count, kSplitWarps)), kSplitThreads>>>(
        q, K, V, lengths, table, out, splits, sequences, kv_heads, groups, width, page_size);
    CUDA_CHECK(cudaGetLastError());
    (aligned ? merge_splits<kD, true, float> : merge_splits<kD, false, float>)(splits, out, rows);
  });
}

LADDER_STEP(AttentionDecodePaged, launch);
