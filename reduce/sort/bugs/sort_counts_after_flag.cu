// bug: a tile sets its flag before its threads have stored the counts that the flag announces
// caught by: cpu forward | s_out[
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | s_out[
// stage: right
#include "../sort_order.cuh"

constexpr unsigned kDigits = 256;  // also the pairs per tile, one per thread

__global__ void sort_counts_after_flag_count(const float* __restrict__ keys, unsigned* counts, std::size_t n,
                                             int shift) {
  const std::size_t i = std::size_t{blockIdx.x} * kDigits + threadIdx.x;
  if (i < n) atomicAdd(counts + (sort_order(keys[i]) >> shift) % kDigits, 1);
}

// counts: of the digits, then a counter of tiles taken, then one flag per tile. before[256 t + d]: the number of pairs
// with digit d in tiles 0 to t.
__global__ void sort_counts_after_flag(const float* __restrict__ keys, const int* __restrict__ values,
                                       float* __restrict__ keys_out, int* __restrict__ values_out, std::size_t n,
                                       int shift, unsigned* counts, volatile unsigned* before) {
  __shared__ unsigned tile, digits[kDigits], places[kDigits];
  unsigned* const flags = counts + kDigits + 1;
  const unsigned d = threadIdx.x;
  if (d == 0) tile = atomicAdd(counts + kDigits, 1);
  __syncthreads();
  const std::size_t i = std::size_t{tile} * kDigits + d;
  const unsigned digit = i < n ? (sort_order(keys[i]) >> shift) % kDigits : kDigits;
  digits[d] = digit;
  __syncthreads();
  unsigned count = 0, rank = 0, start = 0, earlier = 0;
  for (unsigned t = 0; t < kDigits; ++t) {
    count += digits[t] == d;
    rank += t < d && digits[t] == digit;
    start += t < d ? counts[t] : 0;
  }
  if (tile > 0) {
    while (*static_cast<volatile unsigned*>(flags + tile - 1) == 0) {
    }
    __threadfence();
    earlier = before[(tile - 1) * kDigits + d];
  }
  places[d] = start + earlier;
  __syncthreads();
  if (d == 0) atomicExch(flags + tile, 1u);
  if (i < n && places[digit] + rank < n) {
    keys_out[places[digit] + rank] = keys[i];
    values_out[places[digit] + rank] = values[i];
  }
  __threadfence();
  before[tile * kDigits + d] = earlier + count;
}

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  if (n == 0) return;
  float* other_keys = scratch<float>(n);
  int* other_values = scratch<int>(n);
  const auto tiles = static_cast<unsigned>(ceil_div(n, kDigits));
  unsigned* counts = scratch<unsigned>((tiles + 2) * (kDigits + 1));
  unsigned* before = counts + kDigits + 1 + tiles;
  for (int shift = 0; shift < 32; shift += 8) {
    std::swap(keys_out, other_keys), std::swap(values_out, other_values);
    CUDA_CHECK(cudaMemsetAsync(counts, 0, (kDigits + 1 + tiles) * sizeof(unsigned)));
    sort_counts_after_flag_count<<<tiles, kDigits>>>(keys, counts, n, shift);
    CUDA_CHECK(cudaGetLastError());
    sort_counts_after_flag<<<tiles, kDigits>>>(keys, values, keys_out, values_out, n, shift, counts, before);
    CUDA_CHECK(cudaGetLastError());
    keys = keys_out, values = values_out;
  }
}

LADDER_STEP(Sort, launch);
