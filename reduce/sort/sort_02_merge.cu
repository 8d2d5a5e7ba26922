// Problem:  step 01 passes over memory about log2(n)^2 / 2 times.
// Idea:     sort tiles in shared memory, then merge neighbours in log2(tiles) passes. By binary search (merge path), a
//           block finds where its output tile starts in both inputs, and each thread where its 8 elements start.
// Expect:   2 to 5x step 01 at 2^24: 13 passes of 16 bytes per pair instead of 91 rounds.
// Measured: 3.79x step 01, 0.23x CUB at 2^24 (H200).
// Next:     a merge pass doubles the sorted length. How much does a pass over 8 bits of the key gain?
#include "sort_order.cuh"

constexpr unsigned kTile = 2048, kItems = 8, kBlock = kTile / kItems;

// Sorts each tile bitonically as in step 01, with words that hold the index in the tile.
__global__ void sort_merge_tile(const float* __restrict__ keys, const int* __restrict__ values,
                                float* __restrict__ keys_out, int* __restrict__ values_out, std::size_t n) {
  __shared__ unsigned long long tile[kTile];
  const std::size_t first = std::size_t{blockIdx.x} * kTile;
  const auto count = static_cast<unsigned>(n - first < kTile ? n - first : kTile);
  for (unsigned i = threadIdx.x; i < count; i += kBlock) tile[i] = 1ull * sort_order(keys[first + i]) << 32 | i;
  for (unsigned size = 2; size / 2 < count; size *= 2) {
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      for (unsigned t = threadIdx.x; t < kTile / 2; t += kBlock) {
        const unsigned in_half = t & (stride - 1), i = 2 * t - in_half;
        const unsigned j = stride == size / 2 ? i + 2 * (stride - in_half) - 1 : i + stride;
        if (j >= count || tile[i] <= tile[j]) continue;
        const unsigned long long greater = tile[i];
        tile[i] = tile[j];
        tile[j] = greater;
      }
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += kBlock) {
    const std::size_t from = first + static_cast<unsigned>(tile[i]);
    keys_out[first + i] = keys[from];
    values_out[first + i] = values[from];
  }
}

// Returns how many of the first k merged keys come from a. Of equal keys, those of a come first.
template <typename Index>
__device__ static Index merge_path(const float* a, Index a_count, const float* b, Index b_count, Index k) {
  Index low = k > b_count ? k - b_count : 0, high = k < a_count ? k : a_count;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    const bool from_a = sort_order(a[middle]) <= sort_order(b[k - 1 - middle]);
    low = from_a ? middle + 1 : low;
    high = from_a ? high : middle;
  }
  return low;
}

// Merges sorted runs of length `width`, a multiple of kTile, in pairs.
__global__ void sort_merge(const float* __restrict__ keys, const int* __restrict__ values, float* __restrict__ keys_out,
                           int* __restrict__ values_out, std::size_t n, std::size_t width) {
  __shared__ float tile[kTile];
  __shared__ unsigned from[kTile];
  __shared__ std::size_t split[2];
  const std::size_t first = std::size_t{blockIdx.x} * kTile, begin_a = first / (2 * width) * 2 * width;
  const std::size_t begin_b = begin_a + width < n ? begin_a + width : n,
                    end_b = begin_b + width < n ? begin_b + width : n;
  const auto count = static_cast<unsigned>(n - first < kTile ? n - first : kTile);

  // split: where the tile begins and ends in a
  if (threadIdx.x < 2) {
    const std::size_t k = first - begin_a + threadIdx.x * count;
    split[threadIdx.x] = merge_path(keys + begin_a, begin_b - begin_a, keys + begin_b, end_b - begin_b, k);
  }
  __syncthreads();
  const auto a_count = static_cast<unsigned>(split[1] - split[0]);
  const std::size_t first_a = begin_a + split[0], first_b = begin_b + (first - begin_a - split[0]);
  const auto source = [&](unsigned i) { return i < a_count ? first_a + i : first_b + (i - a_count); };

  // load: the part of a, then the part of b
  for (unsigned i = threadIdx.x; i < count; i += kBlock) tile[i] = keys[source(i)];
  __syncthreads();

  // merge: each thread its elements, one by one
  const unsigned mine = kItems * threadIdx.x < count ? kItems * threadIdx.x : count;
  unsigned a = merge_path(tile, a_count, tile + a_count, count - a_count, mine), b = a_count + mine - a;
  for (unsigned k = mine; k < count && k < mine + kItems; ++k) {
    const bool from_a = b == count || (a < a_count && sort_order(tile[a]) <= sort_order(tile[b]));
    from[k] = from_a ? a++ : b++;
  }
  __syncthreads();

  // store
  for (unsigned k = threadIdx.x; k < count; k += kBlock) {
    keys_out[first + k] = tile[from[k]];
    values_out[first + k] = values[source(from[k])];
  }
}

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  if (n == 0) return;
  float* other_keys = scratch<float>(n);
  int* other_values = scratch<int>(n);
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  // the passes alternate between two pairs of arrays; the last one writes the outputs
  std::size_t passes = 0;
  for (std::size_t width = kTile; width < n; width *= 2) ++passes;
  if (passes % 2 == 1) std::swap(keys_out, other_keys), std::swap(values_out, other_values);
  sort_merge_tile<<<tiles, kBlock>>>(keys, values, keys_out, values_out, n);
  CUDA_CHECK(cudaGetLastError());
  for (std::size_t width = kTile; width < n; width *= 2) {
    sort_merge<<<tiles, kBlock>>>(keys_out, values_out, other_keys, other_values, n, width);
    CUDA_CHECK(cudaGetLastError());
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);
  }
}

LADDER_STEP(Sort, launch);
