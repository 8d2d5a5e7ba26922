// Problem:  a decoder asks one query of each head, of a long cache of keys. Step 09's blocks are for 64 queries: 63 rows
//           of each tile are empty, and 32 heads are 32 blocks, for 132 SMs.
// Idea:     flash decoding: cut the keys into parts, one warp each, until the GPU is full. A second kernel merges the
//           parts by the online rule. Where queries are many, step 09's kernel (attention_shapes.hpp).
// Expect:   for few queries K and V at 0.8 to 0.9 of a read's rate. 2.5 to 3.5x step 09 at 256 heads of one query and
//           4096 keys, d = 128; more than 100x for a single head of 100,000 keys.
// Next:     heads that share K and V (grouped queries): which loads are then saved?
// needs: sm_80
#include "attention_3xtf32.cuh"
#include "attention_shapes.hpp"

constexpr int kThreads = 128, kMergeThreads = 256;
constexpr int kLoads = 4;  // keys that a lane has in flight, and as many values

// Of some keys of one query: the maximum of their scores, the sum of their weights exp2(score - max), and the sum of
// these weights times V, in the lane's four columns.
struct Partial {
  float max, sum;
  float4 o;
};
__device__ Partial nothing() { return {-INFINITY, 0.0f, {}}; }  // of no keys

__device__ Partial merge(const Partial& a, const Partial& b) {
  const float max = fmaxf(a.max, b.max), shift = shift_for(max);
  const float x = exp2f(a.max - shift), y = exp2f(b.max - shift);
  return {max,
          x * a.sum + y * b.sum,
          {x * a.o.x + y * b.o.x, x * a.o.y + y * b.o.y, x * a.o.z + y * b.o.z, x * a.o.w + y * b.o.w}};
}

template <bool kAligned>
__device__ void store_quotient(float* to, const Partial& p) {
  const float factor = p.sum == 0.0f ? 0.0f : 1.0f / p.sum;
  store4<kAligned>(to, {factor * p.o.x, factor * p.o.y, factor * p.o.z, factor * p.o.w});
}

// The lanes of a group have four columns each of one key; a warp has a group at d = 128, two at d = 64.
template <int D>
constexpr int kLanes = D / 4;

// A warp for each head, part of the keys and tile of kRows queries; the tiles of a part are neighbours, so that they
// find K and V in the cache. A single part is stored in O; else row r's part p as number r * parts + p of pairs, for
// maximum and sum, and of outputs.
template <int D, int kRows, bool kAligned>
__global__ void __launch_bounds__(kThreads, kRows == 1 ? 8 : 4)
    attention_part(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                   float* __restrict__ O, MaxSum* __restrict__ pairs, float* __restrict__ outputs, std::size_t heads,
                   unsigned tiles, unsigned parts, long long part_keys, long long queries, long long keys,
                   bool causal) {
  constexpr int kGroups = 32 / kLanes<D>;
  const unsigned warp = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  const std::size_t head = warp / tiles / parts;
  if (head >= heads) return;  // the whole warp
  const unsigned part = warp / tiles % parts;
  const long long row0 = static_cast<long long>(warp % tiles) * kRows;
  const int group = threadIdx.x % 32 / kLanes<D>, col = threadIdx.x % kLanes<D> * 4;
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
  // Query i attends to the keys up to i + ahead. So query row0 + r sees seen + r keys of the part, and `count` at most.
  const long long ahead = causal ? keys - queries : keys, begin = part * part_keys, limit = row0 + ahead + 1 - begin;
  const int count = static_cast<int>(min(min(part_keys, keys - begin), max(limit + kRows - 1, 0ll)));
  const int seen = static_cast<int>(min(limit, static_cast<long long>(count)));
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
        s[i] = group_sum<kLanes<D>>(q[r].x * k[i].x + q[r].y * k[i].y + q[r].z * k[i].z + q[r].w * k[i].w);
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
    for (int lanes = kLanes<D>; lanes < 32; lanes *= 2) {  // the other group has the other keys
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

// A block for each row of O.
template <int D, bool kAligned>
__global__ void attention_merge(const MaxSum* __restrict__ pairs, const float* __restrict__ outputs,
                                float* __restrict__ O, unsigned parts) {
  __shared__ Partial of_thread[kMergeThreads];
  const unsigned group = threadIdx.x / kLanes<D>, col = threadIdx.x % kLanes<D> * 4;
  const std::size_t row = blockIdx.x;
  Partial p = nothing();
  for (std::size_t i = row * parts + group; i < (row + 1) * parts; i += kMergeThreads / kLanes<D>) {
    p = merge(p, {pairs[i].max, pairs[i].sum, as4(outputs[i * D + col])});
  }
  of_thread[threadIdx.x] = p;
  __syncthreads();
  if (group > 0) return;
  for (unsigned i = threadIdx.x + kLanes<D>; i < kMergeThreads; i += kLanes<D>) p = merge(p, of_thread[i]);
  store_quotient<kAligned>(O + row * D + col, p);
}

template <int D, int kRows, bool kAligned>
static void launch_parts(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                         std::size_t queries, std::size_t keys, bool causal) {
  const auto kernel = attention_part<D, kRows, kAligned>;
  const std::size_t tiles = ceil_div(queries, kRows);
  const std::size_t part_keys = keys_of_part(heads * tiles, keys, kThreads / 32 * resident_blocks(kernel, kThreads));
  const std::size_t parts = std::max<std::size_t>(1, ceil_div(keys, part_keys)), rows = heads * queries;
  MaxSum* const pairs = parts > 1 ? scratch<MaxSum>(rows * parts) : nullptr;
  float* const outputs = parts > 1 ? scratch<float>(rows * parts * D) : nullptr;
  const auto grid = static_cast<unsigned>(ceil_div(heads * tiles * parts, kThreads / 32));
  kernel<<<grid, kThreads>>>(Q, K, V, O, pairs, outputs, heads, static_cast<unsigned>(tiles),
                             static_cast<unsigned>(parts), part_keys, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
  if (parts == 1) return;
  attention_merge<D, kAligned>
      <<<static_cast<unsigned>(rows), kMergeThreads>>>(pairs, outputs, O, static_cast<unsigned>(parts));
  CUDA_CHECK(cudaGetLastError());
}

template <int D, bool kAligned>
static void launch_rows(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                        std::size_t queries, std::size_t keys, bool causal) {
  const auto run = queries_of_warp(queries) == 1 ? launch_parts<D, 1, kAligned> : launch_parts<D, 4, kAligned>;
  run(Q, K, V, O, heads, queries, keys, causal);
}

static void launch(const float* Q, const float* K, const float* V, float* O, std::size_t heads, std::size_t queries,
                   std::size_t keys, int d, bool causal) {
  if (heads == 0 || queries == 0) return;
  if (!few_queries(heads, queries, sm_count())) return three_tf32::launch(Q, K, V, O, heads, queries, keys, d, causal);
  const bool aligned = aligned_for<float4>(Q, K, V, O);
  const auto run = d == 64 ? (aligned ? launch_rows<64, true> : launch_rows<64, false>)
                           : (aligned ? launch_rows<128, true> : launch_rows<128, false>);
  run(Q, K, V, O, heads, queries, keys, causal);
}

// A weight: exp2 (4) and its product with V. For each kLoads keys of a lane, at least: exp2, the product of the
// rescaling and kLoads additions. For each merge exp2, product and addition (6): of the groups, of the parts of one
// thread, of the threads, 16 at most. The inverse of the sum and its product.
static std::size_t few_roundings(std::size_t keys) {
  const std::size_t merges = 1 + ceil_div(ceil_div(keys, std::size_t{128}), std::size_t{8}) + 15;
  return 5 + (5 + kLoads) * ceil_div(keys, std::size_t{kLoads}) + 6 * merges + 2;
}

static std::size_t roundings(std::size_t keys) { return std::max(few_roundings(keys), three_tf32::roundings(keys)); }

LADDER_STEP(Attention, launch, roundings);
