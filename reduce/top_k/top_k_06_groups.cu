// Problem:  step 05 reads the whole row twice, and a row of any length has only one warp.
// Idea:     groups of consecutive elements. One kernel finds each group's maximum, with enough blocks per row to fill
//           the GPU. The next kernel takes the k groups with the greatest maxima and rereads only those.
// Expect:   0.7 to 0.9 of a read at 4096x50257x8: 1.05 reads, no list. 0.5 to 0.65 at one row of 2^24 and k = 32.
// Measured: 2.59x step 05, 0.82 of a read at 4096x50257x8 (H200).
// Next:     why can no other group have one of the k? (Each of the k has an element that beats all of that group's.)
#include "warp_list.cuh"

constexpr unsigned kMaximaBlock = 256;  // threads of the first kernel: 8 groups at a time
constexpr unsigned kMostWaiting = 256;

// Calls body(value, column) for the elements of a group: 128 * kLoads neighbours that start at a 16-byte boundary. All
// lanes of a warp must call it. Each lane gets the same number of calls; a call with column >= cols has no element.
template <int kLoads, typename Body>
__device__ void for_group(const float* x, unsigned cols, unsigned group, const Body& body) {
  constexpr int kAtOnce = kLoads < 4 ? kLoads : 4;
  const unsigned lane = threadIdx.x % 32, past = (4 - floats_to_boundary(x)) % 4;
  const unsigned begin =
      128 * kLoads * group - past;  // of group 0 it may wrap below 0: such a column is not below cols
  const bool is_whole = begin < cols && cols - begin >= 128 * kLoads;
  for (int done = 0; done < kLoads; done += kAtOnce) {
    const unsigned first = begin + 128 * done + 4 * lane;
    float4 v[kAtOnce];
    if (is_whole) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) v[i] = *reinterpret_cast<const float4*>(x + first + 128 * i);
    } else {
      const auto load = [&](unsigned c) { return c < cols ? x[c] : -INFINITY; };
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const unsigned c = first + 128 * i;
        v[i] = {load(c), load(c + 1), load(c + 2), load(c + 3)};
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const unsigned c = first + 128 * i;
      body(v[i].x, c), body(v[i].y, c + 1), body(v[i].z, c + 2), body(v[i].w, c + 3);
    }
  }
}

template <int kLoads>
__global__ void __launch_bounds__(kMaximaBlock)
    top_k_group_maxima(const float* __restrict__ x, int* __restrict__ maxima, unsigned cols, unsigned groups) {
  x += std::size_t{blockIdx.x} * cols;
  maxima += std::size_t{blockIdx.x} * groups;
  constexpr unsigned kWarps = kMaximaBlock / 32;
  for (unsigned g = blockIdx.y * kWarps + threadIdx.x / 32; g < groups; g += gridDim.y * kWarps) {
    int greatest = no_element().key;
    for_group<kLoads>(x, cols, g, [&](float v, unsigned) { greatest = max(greatest, argmax_key(v)); });
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      greatest = max(greatest, __shfl_xor_sync(0xffffffff, greatest, offset));
    }
    if (threadIdx.x % 32 == 0) maxima[g] = greatest;
  }
}

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

  // find the k groups with the greatest maxima; of equal maxima, the first groups
  WarpList<kParts> best;
  constexpr int kAhead = 8;  // loads in flight; the sort is still compiled only once
  for (unsigned first = threadIdx.x; first - threadIdx.x < groups; first += kAhead * kThreads) {
    int keys[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) keys[i] = maxima[min(first + i * kThreads, groups - 1)];
#pragma unroll 1
    for (unsigned g = first; g - threadIdx.x < groups && g - first < kAhead * kThreads; g += kThreads) {
      best.offer(g < groups ? pair_of_key(keys[0], g) : kNoPair, k);
#pragma unroll
      for (int j = 0; j + 1 < kAhead; ++j) keys[j] = keys[j + 1];
    }
  }
  merge_warps(best, lists);

  // collect their elements, except those below the k-th group's maximum: at least k remain
  const Pair bound = groups < k ? kNoPair : lists[0][k - 1] >> 32 << 32;
  const auto for_candidates = [&](const auto& body) {
    for (unsigned i = threadIdx.x / 32; i < min(k, groups); i += kThreads / 32) {
      for_group<kLoads>(x, cols, column_of(lists[0][i]), [&](float v, unsigned c) {
        if (c < cols && pair_of(v, c) > bound) body(pair_of(v, c));
      });
    }
  };
  for_candidates([&](Pair pair) {
    const unsigned place = atomicAdd(&count, 1u);
    if (place < kMostWaiting) waiting[place] = pair;
  });
  __syncthreads();

  if (count <= kMostWaiting) {  // an element's position is the number of greater ones
    for (unsigned mine = threadIdx.x; mine < count; mine += kThreads) {
      unsigned place = 0;
      for (unsigned i = 0; i < count; ++i) place += waiting[i] > waiting[mine];
      if (place < k) store_result(x, values, indices, place, waiting[mine]);
    }
  } else {  // many equal ones, or a rising row: k times the greatest that is left, as in step 01
    Pair last = kAboveAll;
    for (unsigned place = 0; place < k; ++place) {
      Pair next = kNoPair;
      for_candidates([&](Pair pair) { next = pair < last ? max(next, pair) : next; });
      last = block_max_to_all<kThreads>(next);
      if (threadIdx.x == 0) store_result(x, values, indices, place, last);
    }
  }
}

// Larger groups have fewer maxima, but the k groups that are read again are longer.
template <int kLoads, int kThreads>
static void launch_groups_of(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                             std::size_t k) {
  if (rows == 0 || k == 0) return;                                              // a grid of 0 blocks is an error
  const auto groups = static_cast<unsigned>(ceil_div(cols + 3, 128 * kLoads));  // a row may start 3 past a boundary
  int* maxima = scratch<int>(rows * groups);
  const dim3 grid(static_cast<unsigned>(rows), std::min(ceil_div(groups, kMaximaBlock / 32), 65535u));
  top_k_group_maxima<kLoads><<<grid, kMaximaBlock>>>(x, maxima, static_cast<unsigned>(cols), groups);
  CUDA_CHECK(cudaGetLastError());
  const auto kernel = k <= 32 ? top_k_of_groups<1, kLoads, kThreads> : top_k_of_groups<2, kLoads, kThreads>;
  kernel<<<grid.x, kThreads>>>(x, maxima, values, indices, static_cast<unsigned>(cols), groups,
                               static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

static void launch_groups(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                          std::size_t k) {
  const auto launch = cols < (1 << 20) ? launch_groups_of<2, 64> : launch_groups_of<16, 1024>;
  launch(x, values, indices, rows, cols, k);
}

LADDER_STEP(TopK, launch_groups);
