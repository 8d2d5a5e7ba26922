// Problem:  a decoder asks one query of each head, of a long cache of keys. Step 09's blocks are for 64 queries: 63 rows
//           of each tile are empty, and 32 heads are 32 blocks, for 132 SMs.
// Idea:     flash decoding: cut the keys into parts, one warp each, until the GPU is full. A second kernel merges the
//           parts by the online rule. Where queries are many, step 09's kernel (attention_shapes.hpp).
// Expect:   for few queries K and V at 0.8 to 0.9 of a read's rate. 2.5 to 3.5x step 09 at 256 heads of one query and
//           4096 keys, d = 128; more than 100x for a single head of 100,000 keys.
// Measured: 1.01x step 09, 58.1 TFLOP/s at 64x2048x2048 (H200).
// Why:      there it is step 09's kernel. 256 heads of one query: 0.94 of a copy, 2.33x step 09 (H200).
// Next:     heads that share K and V (grouped queries): which loads are then saved?
// needs: sm_80
#include "attention_3xtf32.cuh"
#include "../attention_parts.cuh"

constexpr int kLoads = 4;  // keys that a lane has in flight, and as many values

// A warp for each head, part of the keys and tile of kRows queries; the tiles of a part are neighbours, so that they
// find K and V in the cache. The lanes of a group have four columns each of one key; a warp has a group at d = 128, two
// at d = 64.
template <int D, int kRows, bool kAligned>
__global__ void __launch_bounds__(kPartThreads, kRows == 1 ? 8 : 4)
    attention_part(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                   float* __restrict__ O, MaxSum* __restrict__ pairs, float* __restrict__ outputs, std::size_t heads,
                   unsigned tiles, unsigned parts, long long part_keys, long long queries, long long keys,
                   bool causal) {
  constexpr int kLanes = D / 4, kGroups = 32 / kLanes;
  const unsigned warp = blockIdx.x * (kPartThreads / 32) + threadIdx.x / 32;
  const std::size_t head = warp / tiles / parts;
  if (head >= heads) return;  // the whole warp
  const unsigned part = warp / tiles % parts;
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
  const auto [begin, count, seen] = keys_of_warp<kRows>(part, row0, part_keys, queries, keys, causal);
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
    for (int lanes = kLanes; lanes < 32; lanes *= 2) {  // the other group has the other keys
      const auto other = [&](float x) { return __shfl_xor_sync(0xffffffff, x, lanes); };
      p[r] = merge(
          p[r],
          {other(p[r].max), other(p[r].sum), {other(p[r].o.x), other(p[r].o.y), other(p[r].o.z), other(p[r].o.w)}});
    }
    if (row0 + r >= queries || group > 0) continue;
    const std::size_t row = head * queries + row0 + r;
    if (parts == 1) {
      store_quotient<kAligned>(O + row * D + col, p[r]);
    } else {
      as4(outputs[(row * parts + part) * D + col]) = p[r].o;
      if (col == 0) pairs[row * parts + part] = {p[r].max, p[r].sum};
    }
  }
}

template <int D, bool kAligned>
static void launch_rows(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                        std::size_t queries, std::size_t keys, bool causal) {
  if (queries_of_warp(queries) == 1) {
    launch_parts<D, 1, kAligned>(attention_part<D, 1, kAligned>, Q, K, V, O, heads, queries, keys, causal, kLeastPart);
  } else {
    launch_parts<D, 4, kAligned>(attention_part<D, 4, kAligned>, Q, K, V, O, heads, queries, keys, causal, kLeastPart);
  }
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  const bool few = few_queries(heads, queries, d, sm_count());
  if (!few) return three_tf32::launch(Q, K, V, O, heads, queries, keys, d, causal);
  const bool aligned = aligned_for<float4>(Q, K, V, O);
  const auto run = d == 64 ? (aligned ? launch_rows<64, true> : launch_rows<64, false>)
                           : (aligned ? launch_rows<128, true> : launch_rows<128, false>);
  run(Q, K, V, O, heads, queries, keys, causal);
}

// A weight: exp2 (4) and its product with V. For each kLoads keys of a lane, at least: exp2, the product of the
// rescaling and kLoads additions. The merge of the groups: exp2, product and addition. The inverse of the sum and its
// product.
static std::size_t few_roundings(std::size_t keys) {
  return 5 + (5 + kLoads) * ceil_div(keys, std::size_t{kLoads}) + 6 + merge_roundings(keys, kLeastPart) + 2;
}

static std::size_t roundings(std::size_t keys) { return std::max(few_roundings(keys), three_tf32::roundings(keys)); }

LADDER_STEP(Attention, launch, roundings);
