// Rows in groups of neighbours, for `top_k` from step 06 on: the maximum of each group, and the k greatest elements of
// the k groups with the greatest maxima, which are those of the row.
#pragma once
#include "warp_list.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;

// The elements of a group: kLoads float4 per lane, and at the ends of the row up to three elements that no float4 has.
// Calls body(value, column) as often for each lane; the value is -infinity and the column kNone where there is nothing.
constexpr unsigned kNone = 0xffffffff;
template <int kLoads, typename Body>
__device__ void for_group(const float* x, unsigned cols, unsigned group, unsigned groups, const Body& body) {
  constexpr int kAtOnce = kLoads < 4 ? kLoads : 4;
  const unsigned lane = threadIdx.x % 32, head = min(floats_to_boundary(x), cols), units = (cols - head) / 4;
  const float4* x4 = reinterpret_cast<const float4*>(x + head);
  for (int done = 0; done < kLoads; done += kAtOnce) {
    const unsigned first = (group * kLoads + done) * 32 + lane;
    float4 v[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      v[i] = first + 32 * i < units ? x4[first + 32 * i] : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const bool exists = first + 32 * i < units;
      const unsigned column = head + 4 * (first + 32 * i);
      body(v[i].x, exists ? column : kNone);
      body(v[i].y, exists ? column + 1 : kNone);
      body(v[i].z, exists ? column + 2 : kNone);
      body(v[i].w, exists ? column + 3 : kNone);
    }
  }
  const auto single = [&](unsigned column, bool exists) {
    body(exists ? x[column] : -INFINITY, exists ? column : kNone);
  };
  if (group == 0) single(lane, lane < head);
  if (group == groups - 1) single(head + 4 * units + lane, head + 4 * units + lane < cols);
}

template <int kLoads>
__global__ void __launch_bounds__(kBlock)
    group_maxima(const float* __restrict__ x, int* __restrict__ maxima, unsigned cols, unsigned groups) {
  x += std::size_t{blockIdx.x} * cols;
  maxima += std::size_t{blockIdx.x} * groups;
  for (unsigned g = blockIdx.y * kWarps + threadIdx.x / 32; g < groups; g += gridDim.y * kWarps) {
    int greatest = no_element().key;
    for_group<kLoads>(x, cols, g, groups, [&](float v, unsigned) { greatest = max(greatest, argmax_key(v)); });
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
      greatest = max(greatest, __shfl_xor_sync(0xffffffff, greatest, offset));
    if (threadIdx.x % 32 == 0) maxima[g] = greatest;
  }
}

// Merges the lists of the block's warps, to warp 0's and to lists[0]. All threads must call it.
template <int kParts, int kLists>
__device__ void merge_warps(WarpList<kParts>& list, Pair (&lists)[kLists][32 * kParts]) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (unsigned warps = kLists; warps > 0; warps /= 2) {
    __syncthreads();
    if (warp < warps) {
#pragma unroll
      for (int part = 0; part < kParts; ++part) lists[warp][32 * part + lane] = list.best[part];
    }
    __syncthreads();
    if (warp >= warps / 2) continue;
    list.merge([&](int part) { return lists[warp + warps / 2][32 * kParts - 1 - 32 * part - lane]; });
  }
}

constexpr unsigned kMostWaiting = 256;

template <int kParts, int kLoads, int kThreads>
__global__ void __launch_bounds__(kThreads)
    top_k_of_groups(const float* __restrict__ x, const int* __restrict__ maxima, float* __restrict__ values,
                    int* __restrict__ indices, unsigned cols, unsigned groups, unsigned k) {
  __shared__ Pair lists[kThreads / 32][32 * kParts], waiting[kMostWaiting];
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  x += std::size_t{blockIdx.x} * cols;
  maxima += std::size_t{blockIdx.x} * groups;
  values += std::size_t{blockIdx.x} * k;
  indices += std::size_t{blockIdx.x} * k;

  // the k groups of the greatest maxima, of equal ones the first
  WarpList<kParts> best;
  constexpr int kAhead = 8;  // loads in flight, for one copy of the sort's code
  for (unsigned first = threadIdx.x; first - threadIdx.x < groups; first += kAhead * kThreads) {
    int keys[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      keys[i] = first + i * kThreads < groups ? maxima[first + i * kThreads] : no_element().key;
    }
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i) {
      const unsigned g = first + i * kThreads;
      if (g - threadIdx.x >= groups) break;  // the whole block
      best.offer(g < groups ? pair_of_key(keys[0], g) : kNoPair, k);
#pragma unroll
      for (int j = 0; j + 1 < kAhead; ++j) keys[j] = keys[j + 1];
    }
  }
  merge_warps(best, lists);

  // their elements, but those below the k-th group's maximum: k are at or above it
  const unsigned chosen = min(k, groups);
  const Pair bound = groups < k ? kNoPair : lists[0][k - 1] >> 32 << 32;
  const auto for_chosen = [&](const auto& body) {
    for (unsigned i = threadIdx.x / 32; i < chosen; i += kThreads / 32) {
      for_group<kLoads>(x, cols, column_of(lists[0][i]), groups,
                        [&](float v, unsigned c) { body(c == kNone ? kNoPair : pair_of(v, c)); });
    }
  };
  for_chosen([&](Pair pair) {
    if (pair <= bound) return;
    const unsigned place = atomicAdd(&count, 1u);
    if (place < kMostWaiting) waiting[place] = pair;
  });
  __syncthreads();

  if (count <= kMostWaiting) {  // each to its place: as many as are greater come before it
    for (unsigned mine = threadIdx.x; mine < count; mine += kThreads) {
      unsigned place = 0;
      for (unsigned i = 0; i < count; ++i) place += waiting[i] > waiting[mine];
      if (place < k) store_result(x, values, indices, place, waiting[mine]);
    }
  } else {  // many equal to the bound, or rising: lists
    WarpList<kParts> list(bound);
    for_chosen([&](Pair pair) { list.offer(pair, k); });
    merge_warps(list, lists);
    if (threadIdx.x < 32) list.store(x, values, indices, k);
  }
}

template <int kLoads, int kThreads>
void launch_groups(const float* x, float* values, int* indices, std::size_t rows, unsigned cols, unsigned k) {
  const unsigned groups = ceil_div(std::max(1u, cols / 4), 32u * kLoads);
  int* maxima = scratch<int>(rows * groups);
  const unsigned of_warp = kLoads == 1 && rows >= 1024 ? 4 : 1;  // groups; where there are blocks enough
  const dim3 grid(static_cast<unsigned>(rows), std::min(ceil_div(groups, of_warp * kWarps), 65535u));
  group_maxima<kLoads><<<grid, kBlock>>>(x, maxima, cols, groups);
  CUDA_CHECK(cudaGetLastError());
  const auto kernel = k <= 32 ? top_k_of_groups<1, kLoads, kThreads> : top_k_of_groups<2, kLoads, kThreads>;
  kernel<<<grid.x, kThreads>>>(x, maxima, values, indices, cols, groups, k);
  CUDA_CHECK(cudaGetLastError());
}

// rows and k must not be 0. The larger the groups, the fewer maxima, and the more is read again: k groups. A block of 1
// or 2 warps reads these one after another. Where there are no more than 4 rows for an SM, 8 warps share them.
inline void launch_in_groups(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                             std::size_t k) {
  const std::size_t share = cols / k;
  const bool few_rows = rows <= std::size_t{4} * sm_count();
  const auto launch_for = share >= (1 << 17)   ? launch_groups<16, 1024>
                          : share >= (1 << 14) ? launch_groups<4, 256>
                          : share >= 768       ? (few_rows ? launch_groups<2, 256> : launch_groups<2, 64>)
                                               : (few_rows ? launch_groups<1, 256> : launch_groups<1, 32>);
  launch_for(x, values, indices, rows, static_cast<unsigned>(cols), static_cast<unsigned>(k));
}
