// bug: the last block's threads past the end count a key of 0, so pairs with greater digits are stored too far back
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../radix_tile.cuh"

// Adds to counts[d] the number of keys with digit d.
__global__ void sort_padding_counted_count(const float* __restrict__ keys, unsigned* counts, std::size_t n, int shift) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  atomicAdd(counts + digit_of(i < n ? keys[i] : 0.0f, shift), 1);
}

// One thread stores all pairs in order.
__global__ void sort_padding_counted(const float* __restrict__ keys, const int* __restrict__ values,
                                     float* __restrict__ keys_out, int* __restrict__ values_out, std::size_t n,
                                     int shift, const unsigned* __restrict__ counts) {
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
  for (int shift = 0; shift < 32; shift += 8) {
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);
    CUDA_CHECK(cudaMemsetAsync(counts, 0, kDigits * sizeof(unsigned)));
    sort_padding_counted_count<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(keys, counts, n, shift);
    CUDA_CHECK(cudaGetLastError());
    sort_padding_counted<<<1, 1>>>(keys, values, keys_out, values_out, n, shift, counts);
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
