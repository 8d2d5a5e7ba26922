// Flash decoding: chooses the number of splits, finds the keys of a split, and merges the results of the splits. The
// kernel that computes a split belongs to the step, as in attention 10, attention_bf16 04 and attention_decode 04.
#pragma once
#include "attention_float4.cuh"
#include "cuda_helpers.cuh"
#include "online_softmax.cuh"  // MaxSum, shift_for

#include <cuda_bf16.h>

constexpr int kSplitThreads = 128, kSplitWarps = kSplitThreads / 32, kMergeThreads = 256;

// `count` splits of each head's keys, `keys` keys each. If count > 1, row r's split i is stored at r * count + i.
struct Splits {
  unsigned count;
  long long keys;
  MaxSum* pairs;
  float* outputs;
};

// Returns enough splits to fill the GPU once with the kernel's warps, `tiles` of which handle each split. A split is
// not shorter than `least` keys. Up to 2 * least keys are not split, because the merge is a second kernel.
template <int D, typename... Arguments>
Splits split_keys(void (*kernel)(Arguments...), std::size_t tiles, std::size_t rows, std::size_t keys,
                  std::size_t least) {
  const std::size_t wanted = std::max<std::size_t>(1, kSplitWarps * resident_blocks(kernel, kSplitThreads) / tiles);
  const std::size_t length = keys <= 2 * least ? 2 * least : std::max(least, ceil_div(keys, wanted));
  const std::size_t count = std::max<std::size_t>(1, ceil_div(keys, length));
  return {static_cast<unsigned>(count), static_cast<long long>(length),
          count > 1 ? scratch<MaxSum>(rows * count) : nullptr, count > 1 ? scratch<float>(rows * count * D) : nullptr};
}

// The keys of a split for kRows queries from row0 on: `count` from `begin` on. Query row0 + r sees the first seen + r.
struct SeenKeys {
  long long begin;
  int count, seen;
};
template <int kRows>
__device__ SeenKeys keys_of_split(unsigned split, long long row0, long long length, long long queries, long long keys,
                                  bool causal) {
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long begin = split * length, limit = row0 + ahead + 1 - begin;
  const int count = static_cast<int>(min(min(length, keys - begin), max(limit + kRows - 1, 0ll)));
  return {begin, count, static_cast<int>(min(limit, static_cast<long long>(count)))};
}

// The result for some keys of a query: maximum score, sum of p = exp2(score - max), and four columns of sum p V.
struct Partial {
  float max, sum;
  float4 o;
};
__device__ inline Partial nothing() { return {-INFINITY, 0.0f, {}}; }  // the result for no keys

__device__ inline Partial merge(const Partial& a, const Partial& b) {
  const float max = fmaxf(a.max, b.max), shift = shift_for(max);
  const float x = exp2f(a.max - shift), y = exp2f(b.max - shift);
  return {max,
          x * a.sum + y * b.sum,
          {x * a.o.x + y * b.o.x, x * a.o.y + y * b.o.y, x * a.o.z + y * b.o.z, x * a.o.w + y * b.o.w}};
}

// Stores four values as BF16. kAligned: p is 8-byte aligned.
template <bool kAligned>
__device__ void store4(__nv_bfloat16* p, float4 v) {
  const __nv_bfloat162 low = __floats2bfloat162_rn(v.x, v.y), high = __floats2bfloat162_rn(v.z, v.w);
  if constexpr (kAligned) {
    *reinterpret_cast<uint2*>(p) = {reinterpret_cast<const unsigned&>(low), reinterpret_cast<const unsigned&>(high)};
  } else {
    p[0] = low.x, p[1] = low.y, p[2] = high.x, p[3] = high.y;
  }
}

__device__ inline float inverse(float sum) { return sum == 0.0f ? 0.0f : 1.0f / sum; }  // 0 if there are no keys

template <bool kAligned, typename T>
__device__ void store_quotient(T* to, const Partial& p) {
  const float factor = inverse(p.sum);
  store4<kAligned>(to, {factor * p.o.x, factor * p.o.y, factor * p.o.z, factor * p.o.w});
}

// Merges the splits. D / 4 neighbouring threads hold the columns of a row; `groups` of them, a power of 2, share a row.
template <int D, bool kAligned, typename T>
__global__ void attention_merge(Splits splits, T* __restrict__ O, std::size_t rows, unsigned groups) {
  __shared__ Partial of_thread[kMergeThreads];
  constexpr unsigned kLanes = D / 4, kGroups = kMergeThreads / kLanes;
  const unsigned group = threadIdx.x / kLanes, first = group % groups, col = threadIdx.x % kLanes * 4;
  const std::size_t row = blockIdx.x * std::size_t{kGroups / groups} + group / groups;
  Partial p = nothing();
  if (row < rows) {
    for (std::size_t i = row * splits.count + first; i < (row + 1) * splits.count; i += groups) {
      p = merge(p, {splits.pairs[i].max, splits.pairs[i].sum, as4(splits.outputs[i * D + col])});
    }
  }
  of_thread[threadIdx.x] = p;
  __syncthreads();
  if (row >= rows || first > 0) return;
  for (unsigned i = 1; i < groups; ++i) p = merge(p, of_thread[threadIdx.x + i * kLanes]);
  store_quotient<kAligned>(O + row * D + col, p);
}

// Launches the merge if there are several splits: up to four for each group of threads, while a block has groups.
template <int D, bool kAligned, typename T>
void merge_splits(const Splits& splits, T* O, std::size_t rows) {
  if (splits.count == 1) return;
  constexpr unsigned kGroups = kMergeThreads / (D / 4);
  unsigned groups = 1;
  while (groups < kGroups && 4 * groups < splits.count) groups *= 2;
  attention_merge<D, kAligned><<<static_cast<unsigned>(ceil_div(rows, std::size_t{kGroups / groups})), kMergeThreads>>>(
      splits, O, rows, groups);
  CUDA_CHECK(cudaGetLastError());
}
