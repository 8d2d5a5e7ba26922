// bug: the counts are set to 0 before the first pass only, so later passes start from the counts of earlier ones
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../radix_tile.cuh"

// Adds to counts[d] the number of keys with digit d.
__global__ void sort_counts_kept_count(const float* __restrict__ keys, unsigned* counts, std::size_t n, int shift) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i < n) atomicAdd(counts + digit_of(keys[i], shift), 1);
}

// One thread stores all pairs in order.
__global__ void sort_counts_kept(const float* __restrict__ keys, const int* __restrict__ values,
                                 float* __restrict__ keys_out, int* __restrict__ values_out, std::size_t n, int shift,
                                 const unsigned* __restrict__ counts) {
  unsigned next[kDigits];
  for (unsigned d = 0, before = 0; d < kDigits; before += counts[d], ++d) next[d] = before;
  for (std::size_t i = 0; i < n; ++i) {
    const unsigned to = next[digit_of(keys[i], shift)]++;
    if (to >= n) continue;
    keys_out[to] = keys[i];
    values_out[to] = values[i];
  }
}

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  if (n == 0) return;
  float* other_keys = scratch<float>(n);
  int* other_values = scratch<int>(n);
  unsigned* counts = scratch<unsigned>(kDigits);
  CUDA_CHECK(cudaMemsetAsync(counts, 0, kDigits * sizeof(unsigned)));
  for (int shift = 0; shift < 32; shift += 8) {
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);
    sort_counts_kept_count<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(keys, counts, n, shift);
    CUDA_CHECK(cudaGetLastError());
    sort_counts_kept<<<1, 1>>>(keys, values, keys_out, values_out, n, shift, counts);
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
