// Problem:  a decoder has one query per head: 63 of 64 rows of step 09's tiles are empty, and 32 heads are 32 blocks.
// Idea:     flash decoding: cut the keys into splits, one warp each, until the GPU is full. A second kernel merges the
//           splits by the online rule. FFMA is enough, since the step is memory-bound.
// Expect:   for few queries 0.8 to 0.9 of a read's rate: 2.5 to 3.5x step 09 at 256x1x4096/d=128 (heads, queries,
//           keys), more than 100x for a single head of 100,000 keys.
// Measured: 2.29x step 09, 1.93 TFLOP/s at 256x1x4096/d=128 (H200).
// Next:     in grouped-query attention heads share K and V. Which loads does that save?
#include "attention.cuh"
#include "../split_keys.cuh"

constexpr int kLoads = 4;                   // keys, and as many values, in flight per lane
constexpr std::size_t kShortestSplit = 16;  // keys

// One warp per head, split of the keys and tile of kRows queries; a split's tiles are neighbouring warps, which share K
// and V in L2. A group of lanes handles one key, each lane four columns; a warp is one group at d = 128, two at d = 64.
template <int D, int kRows, bool kAligned>
__global__ void __launch_bounds__(kSplitThreads, kRows == 1 ? 8 : 4)
    attention_split(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                    float* __restrict__ O, Splits splits, std::size_t heads, unsigned tiles, long long queries,
                    long long keys, bool causal) {
  constexpr int kLanes = D / 4, kGroups = 32 / kLanes;
  const unsigned warp = blockIdx.x * kSplitWarps + threadIdx.x / 32;
  const std::size_t head = warp / tiles / splits.count;
  if (head >= heads) return;  // the whole warp
  const unsigned split = warp / tiles % splits.count;
  const long long row0 = static_cast<long long>(warp % tiles) * kRows;
  const int group = threadIdx.x % 32 / kLanes, col = threadIdx.x % kLanes * 4;
  Q += (head * queries + row0) * D + col;
  K += head * keys * D + col;
  V += head * keys * D + col;

  float4 q[kRows];
  Partial p[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    q[r] = row0 + r < queries ? load4<kAligned>(Q + r * D) : float4{};
    constexpr float scale = kScoreScale<D>;
    q[r] = {scale * q[r].x, scale * q[r].y, scale * q[r].z, scale * q[r].w};
    p[r] = nothing();
  }
  const auto [begin, count, seen] = keys_of_split<kRows>(split, row0, splits.keys, queries, keys, causal);
  K += (begin + group) * D;
  V += (begin + group) * D;
  for (int key0 = 0; key0 < count; key0 += kLoads * kGroups) {
    float4 k[kLoads], v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const bool inside = key0 + i * kGroups + group < count;
      k[i] = inside ? load4<kAligned>(K + i * kGroups * D) : float4{};
      v[i] = inside ? load4<kAligned>(V + i * kGroups * D) : float4{};
    }
    K += kLoads * kGroups * D;
    V += kLoads * kGroups * D;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float s[kLoads], max = p[r].max;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        s[i] = group_sum<kLanes>(q[r].x * k[i].x + q[r].y * k[i].y + q[r].z * k[i].z + q[r].w * k[i].w);
        if (key0 + i * kGroups + group >= min(count, seen + r)) s[i] = -INFINITY;
        max = fmaxf(max, s[i]);
      }
      const float shift = shift_for(max), rescale = exp2f(p[r].max - shift);
      float4& o = p[r].o;
      p[r].max = max;
      p[r].sum *= rescale;
      o = {rescale * o.x, rescale * o.y, rescale * o.z, rescale * o.w};
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const float weight = exp2f(s[i] - shift);
        p[r].sum += weight;
        o.x += weight * v[i].x, o.y += weight * v[i].y, o.z += weight * v[i].z, o.w += weight * v[i].w;
      }
    }
  }

#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    for (int lanes = kLanes; lanes < 32; lanes *= 2) {  // merge with the other group's keys
      const auto other = [&](float x) { return __shfl_xor_sync(0xffffffff, x, lanes); };
      p[r] = merge(
          p[r],
          {other(p[r].max), other(p[r].sum), {other(p[r].o.x), other(p[r].o.y), other(p[r].o.z), other(p[r].o.w)}});
    }
    if (row0 + r >= queries || group > 0) continue;
    const std::size_t row = head * queries + row0 + r, at = row * splits.count + split;
    if (splits.count == 1) {
      store_quotient<kAligned>(O + row * D + col, p[r]);
    } else {
      as4(splits.outputs[at * D + col]) = p[r].o;
      if (col == 0) splits.pairs[at] = {p[r].max, p[r].sum};
    }
  }
}

template <int D, int kRows, bool kAligned>
static void launch_rows(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                        std::size_t queries, std::size_t keys, bool causal) {
  const auto kernel = attention_split<D, kRows, kAligned>;
  const std::size_t tiles = ceil_div(queries, kRows), rows = heads * queries;
  const Splits splits = split_keys<D>(kernel, heads * tiles, rows, keys, kShortestSplit);
  const auto grid = static_cast<unsigned>(ceil_div(heads * tiles * splits.count, kSplitWarps));
  kernel<<<grid, kSplitThreads>>>(Q, K, V, O, splits, heads, static_cast<unsigned>(tiles), queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
  merge_splits<D, kAligned>(splits, O, rows);
}

template <int D, bool kAligned>
static void launch_aligned(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                           std::size_t queries, std::size_t keys, bool causal) {
  (queries == 1 ? launch_rows<D, 1, kAligned> : launch_rows<D, 4, kAligned>)(Q, K, V, O, heads, queries, keys, causal);
}

static void launch_split_keys(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                              std::size_t queries, std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const bool aligned = aligned_for<float4>(Q, K, V, O);
  const auto launch = d == 64 ? (aligned ? launch_aligned<64, true> : launch_aligned<64, false>)
                              : (aligned ? launch_aligned<128, true> : launch_aligned<128, false>);
  launch(Q, K, V, O, heads, queries, keys, causal);
}

LADDER_STEP(Attention, launch_split_keys);
