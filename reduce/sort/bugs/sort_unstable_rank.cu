// bug: a pair's rank among equal digits comes from an atomic, so pairs are stored in the order of arrival
// caught by: cpu reverse | is wrong
// caught by: gpu | is wrong
// stage: races and barriers
#include "../radix_counts.cuh"

__global__ void sort_unstable_rank(const float* __restrict__ keys, const int* __restrict__ values,
                                   float* __restrict__ keys_out, int* __restrict__ values_out, std::size_t n, int shift,
                                   const unsigned* __restrict__ counts, const unsigned* __restrict__ totals) {
  __shared__ unsigned next[kDigits];
  const unsigned d = threadIdx.x;
  const unsigned start = block_scan<kBlock>(d < kDigits ? totals[d] : 0u).before;
  if (d < kDigits) next[d] = start + counts[std::size_t{d} * gridDim.x + blockIdx.x];
  __syncthreads();
  for (int k = 0; k < kItems; ++k) {
    const std::size_t i = std::size_t{blockIdx.x} * kTile + k * kBlock + threadIdx.x;
    if (i < n) {
      const unsigned to = atomicAdd(&next[digit_of(keys[i], shift)], 1);
      keys_out[to] = keys[i];
      values_out[to] = values[i];
    }
    __syncthreads();
  }
}

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  if (n == 0) return;
  float* other_keys = scratch<float>(n);
  int* other_values = scratch<int>(n);
  const auto tiles = static_cast<unsigned>(ceil_div(n, kTile));
  unsigned* totals = scratch<unsigned>(kDigits * (tiles + std::size_t{1}));
  unsigned* counts = totals + kDigits;
  for (int shift = 0; shift < 32; shift += 8) {
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);
    count_digits<<<tiles, kBlock>>>(keys, counts, n, shift);
    CUDA_CHECK(cudaGetLastError());
    scan_counts<<<kDigits, 32>>>(counts, totals, tiles);
    CUDA_CHECK(cudaGetLastError());
    sort_unstable_rank<<<tiles, kBlock>>>(keys, values, keys_out, values_out, n, shift, counts, totals);
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
