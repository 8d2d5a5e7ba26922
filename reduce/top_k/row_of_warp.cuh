// A row in the registers of a warp, for `top_k` from step 07 on: a bound first, and what is not below it waits in shared
// memory. Each of these few goes to the place that says how many are greater.
#pragma once
#include "row_groups.cuh"

constexpr unsigned kMostOfWarp = 96;  // pairs that wait

// Sorts one key per lane, the greatest to lane 0.
__device__ static int sorted_descending(int key) {
#pragma unroll
  for (unsigned size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      const int other = __shfl_xor_sync(0xffffffff, key, stride);
      const bool descending = size == 32 || (threadIdx.x & size) == 0;
      key = ((threadIdx.x & stride) == 0) == descending ? max(key, other) : min(key, other);
    }
  }
  return key;
}

// A key that k elements of the row reach, or that of no element. kKept of each lane.
template <int kKept>
__device__ int bound_of(const int (&keys)[kKept], unsigned k) {
  int greatest[2] = {no_element().key, no_element().key};
#pragma unroll
  for (int i = 0; i < kKept; ++i) greatest[i % 2] = max(greatest[i % 2], keys[i]);
  if (k <= 32) return __shfl_sync(0xffffffff, sorted_descending(max(greatest[0], greatest[1])), k - 1);
  // half of the k from either half of the maxima
  const int other = sorted_descending(greatest[1]), one = sorted_descending(greatest[0]);
  return __shfl_sync(0xffffffff, min(one, other), (k - 1) / 2);
}

template <int kKept>
__global__ void __launch_bounds__(kBlock)
    top_k_of_short_row(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                       std::size_t rows, unsigned cols, unsigned k) {
  __shared__ Pair waiting[kWarps][kMostOfWarp];
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp, and there is no barrier for the block
  x += row * cols;
  values += row * k;
  indices += row * k;
  Pair* const pairs = waiting[threadIdx.x / 32];

  // all loads before the first use, which loads under a condition would not be: past the end the last element again
  float v[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) v[i] = x[min(lane + 32 * i, cols - 1)];
  int keys[kKept];
#pragma unroll
  for (int i = 0; i < kKept; ++i) keys[i] = lane + 32 * i < cols ? argmax_key(v[i]) : no_element().key;
  const int bound = max(bound_of(keys, k), no_element().key + 1);

  // what is not below the bound
  unsigned count = 0;
#pragma unroll
  for (int i = 0; i < kKept; ++i) {
    const unsigned mask = __ballot_sync(0xffffffff, keys[i] >= bound);
    if (mask == 0) continue;
    const unsigned place = count + __popc(mask & ((1u << lane) - 1));
    if (keys[i] >= bound && place < kMostOfWarp) pairs[place] = pair_of_key(keys[i], lane + 32 * i);
    count += __popc(mask);
  }
  __syncwarp();

  if (count <= kMostOfWarp) {  // each to its place
    for (unsigned mine = lane; mine < count; mine += 32) {
      unsigned place = 0;
      for (unsigned i = 0; i < count; ++i) place += pairs[i] > pairs[mine];
      if (place < k) store_result(x, values, indices, place, pairs[mine]);
    }
  } else {  // many equal to the bound, or nearly: a list, as in step 03
    WarpList<2> list(pair_of_key(bound, 0x7fffffff));
    for (unsigned first = 0; first < cols; first += 32) {
      list.offer(first + lane < cols ? pair_of(x[first + lane], first + lane) : kNoPair, k);
    }
    list.store(x, values, indices, k);
  }
}

// rows and k must not be 0. Longer rows in groups.
inline void launch_by_length(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                             std::size_t k) {
  if (cols > 2048) return launch_in_groups(x, values, indices, rows, cols, k);
  const auto kernel = cols <= 128    ? top_k_of_short_row<4>
                      : cols <= 512  ? top_k_of_short_row<16>
                      : cols <= 1024 ? top_k_of_short_row<32>
                                     : top_k_of_short_row<64>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, std::size_t{kWarps}));
  kernel<<<grid, kBlock>>>(x, values, indices, rows, static_cast<unsigned>(cols), static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}
