// Flash decoding, for attention 10 and attention_bf16 04 and 05: a part's keys, where its result goes, the kernel that
// merges parts, and both launches. The kernel that computes parts is the steps' own.
#pragma once
#include "attention_float4.cuh"
#include "attention_shapes.hpp"
#include "cuda_helpers.cuh"
#include "online_softmax.cuh"  // MaxSum, shift_for

#include <cuda_bf16.h>

constexpr int kPartThreads = 128, kMergeThreads = 256;

// The keys of a part for a tile of kRows queries, the first one of which is row0. They begin with key `begin`; query
// row0 + r attends to the first seen + r of them, and to `count` at most.
struct SeenKeys {
  long long begin;
  int count, seen;
};
template <int kRows>
__device__ SeenKeys keys_of_warp(unsigned part, long long row0, long long part_keys, long long queries, long long keys,
                                 bool causal) {
  const long long ahead = causal ? keys - queries : keys;  // query i attends to the keys up to i + ahead
  const long long begin = part * part_keys, limit = row0 + ahead + 1 - begin;
  const int count = static_cast<int>(min(min(part_keys, keys - begin), max(limit + kRows - 1, 0ll)));
  return {begin, count, static_cast<int>(min(limit, static_cast<long long>(count)))};
}

// Of some keys of one query: the maximum of their scores, the sum of their weights exp2(score - max), and the sum of
// these weights times V, in four columns.
struct Partial {
  float max, sum;
  float4 o;
};
__device__ inline Partial nothing() { return {-INFINITY, 0.0f, {}}; }  // of no keys

__device__ inline Partial merge(const Partial& a, const Partial& b) {
  const float max = fmaxf(a.max, b.max), shift = shift_for(max);
  const float x = exp2f(a.max - shift), y = exp2f(b.max - shift);
  return {max,
          x * a.sum + y * b.sum,
          {x * a.o.x + y * b.o.x, x * a.o.y + y * b.o.y, x * a.o.z + y * b.o.z, x * a.o.w + y * b.o.w}};
}

// As for floats; kAligned: to multiples of 8 bytes.
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

// D / 4 neighbouring threads have the columns of a row of O, and `groups` such groups its parts: a power of 2, at most
// as many as a block has.
template <int D, bool kAligned, typename T>
__global__ void attention_merge(const MaxSum* __restrict__ pairs, const float* __restrict__ outputs, T* __restrict__ O,
                                std::size_t rows, unsigned parts, unsigned groups) {
  __shared__ Partial of_thread[kMergeThreads];
  constexpr unsigned kLanes = D / 4, kGroups = kMergeThreads / kLanes;
  const unsigned group = threadIdx.x / kLanes, first = group % groups, col = threadIdx.x % kLanes * 4;
  const std::size_t row = blockIdx.x * std::size_t{kGroups / groups} + group / groups;
  Partial p = nothing();
  if (row < rows) {
    for (std::size_t i = row * parts + first; i < (row + 1) * parts; i += groups) {
      p = merge(p, {pairs[i].max, pairs[i].sum, as4(outputs[i * D + col])});
    }
  }
  of_thread[threadIdx.x] = p;
  __syncthreads();
  if (row >= rows || first > 0) return;
  for (unsigned i = 1; i < groups; ++i) p = merge(p, of_thread[threadIdx.x + i * kLanes]);
  store_quotient<kAligned>(O + row * D + col, p);
}

constexpr std::size_t kPartsOfGroup = 4;  // of a row; more where a block has no more groups

// `kernel` computes the parts, of `least` keys or more, a warp for each and kRows queries. A single part is stored in O;
// else row r's part p as number r * parts + p of pairs, for maximum and sum, and of outputs.
template <int D, int kRows, bool kAligned, typename T>
void launch_parts(void (*kernel)(const T*, const T*, const T*, T*, MaxSum*, float*, std::size_t, unsigned, unsigned,
                                 long long, long long, long long, bool),
                  const T* Q, const T* K, const T* V, T* O, std::size_t heads, std::size_t queries, std::size_t keys,
                  bool causal, std::size_t least) {
  constexpr unsigned kWarps = kPartThreads / 32;
  const std::size_t tiles = ceil_div(queries, kRows);
  const std::size_t part_keys =
      keys_of_part(heads * tiles, keys, kWarps * resident_blocks(kernel, kPartThreads), least);
  const std::size_t parts = std::max<std::size_t>(1, ceil_div(keys, part_keys)), rows = heads * queries;
  MaxSum* const pairs = parts > 1 ? scratch<MaxSum>(rows * parts) : nullptr;
  float* const outputs = parts > 1 ? scratch<float>(rows * parts * D) : nullptr;
  const auto grid = static_cast<unsigned>(ceil_div(heads * tiles * parts, kWarps));
  kernel<<<grid, kPartThreads>>>(Q, K, V, O, pairs, outputs, heads, static_cast<unsigned>(tiles),
                                 static_cast<unsigned>(parts), part_keys, queries, keys, causal);
  CUDA_CHECK(cudaGetLastError());
  if (parts == 1) return;
  constexpr unsigned kGroups = kMergeThreads / (D / 4);
  unsigned groups = 1;
  while (groups < kGroups && groups * kPartsOfGroup < parts) groups *= 2;
  attention_merge<D, kAligned><<<static_cast<unsigned>(ceil_div(rows, std::size_t{kGroups / groups})), kMergeThreads>>>(
      pairs, outputs, O, rows, static_cast<unsigned>(parts), groups);
  CUDA_CHECK(cudaGetLastError());
}

// Of the merges: exp2, product and addition for each, of the parts of a thread and of the threads, 16 at most.
inline std::size_t merge_roundings(std::size_t keys, std::size_t least) {
  const std::size_t parts = ceil_div(keys, least);
  return 6 * (std::max(kPartsOfGroup, ceil_div(parts, std::size_t{kMergeThreads / 32})) + 15);
}
