#include <cuda_runtime.h>

constexpr unsigned kRuns = 4096, kDigits = 16, kShare = kDigits * kRuns / 1024;  // counts per thread of `scan`

__device__ unsigned digit_of(float key, int shift) {  // rises with the key; -0 has the digits of +0
  const unsigned bits = __float_as_uint(key);
  return ((bits >> 31 ? 0 - bits : bits | 0x80000000) >> shift) % kDigits;
}

__global__ void count(const float* keys, unsigned* counts, size_t n, int shift) {
  const unsigned run = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned d = 0; d < kDigits; ++d) counts[d * kRuns + run] = 0;
  for (size_t i = n * run / kRuns; i < n * (run + 1) / kRuns; ++i) ++counts[digit_of(keys[i], shift) * kRuns + run];
}

__global__ void scan(unsigned* counts) {  // exclusive, in place; one block of 1024 threads
  __shared__ unsigned sums[1024];
  unsigned sum = 0, before = 0;
  counts += kShare * threadIdx.x;
  for (unsigned c = 0; c < kShare; ++c) sum += counts[c];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned t = 0; t < threadIdx.x; ++t) before += sums[t];
  for (unsigned c = 0; c < kShare; before += sum, ++c) sum = counts[c], counts[c] = before;
}

__global__ void scatter(const float* keys, const int* values, float* keys_out, int* values_out, unsigned* next,
                        size_t n, int shift) {
  const unsigned run = blockIdx.x * blockDim.x + threadIdx.x;
  for (size_t i = n * run / kRuns; i < n * (run + 1) / kRuns; ++i) {
    const unsigned to = next[digit_of(keys[i], shift) * kRuns + run]++;
    keys_out[to] = keys[i];
    values_out[to] = values[i];
  }
}

cudaError_t pass(const float* keys, const int* values, float* keys_out, int* values_out, unsigned* counts, size_t n,
                 int shift) {
  count<<<kRuns / 256, 256>>>(keys, counts, n, shift);
  scan<<<1, 1024>>>(counts);
  scatter<<<kRuns / 256, 256>>>(keys, values, keys_out, values_out, counts, n, shift);
  return cudaGetLastError();
}

cudaError_t launch(const float* keys, const int* values, float* keys_out, int* values_out, size_t n) {
  unsigned* counts = nullptr;
  cudaError_t error = cudaMallocAsync(&counts, 4 * (kDigits * kRuns + 2 * n), 0);
  float* const keys_2 = reinterpret_cast<float*>(counts + kDigits * kRuns);
  int* const values_2 = reinterpret_cast<int*>(keys_2 + n);
  for (int shift = 0; shift < 32 && error == cudaSuccess; shift += 8) {
    error = pass(shift ? keys_out : keys, shift ? values_out : values, keys_2, values_2, counts, n, shift);
    if (error == cudaSuccess) error = pass(keys_2, values_2, keys_out, values_out, counts, n, shift + 4);
  }
  cudaFreeAsync(counts, 0);
  return error;
}

// The answer ends here. Say while you write it:
// Radix sort from the lowest digit: eight stable passes of 4 bits. A thread has a run of neighbours, counts its digits,
// and after the scan stores its pairs in order. The counts are digit-major, so the scan puts lower digits first, then
// earlier runs: a pass keeps the order of equal digits, which the next pass needs.
// A positive float's bits rise with it, a negative one's fall, so those are negated. Ask about NaN and -0.
// A thread's reads are not coalesced: lanes are n / 4096 apart. Next: a warp reads 32 neighbours and ranks them by
// ballots (sort 03), a block sorts its tile in shared memory before it stores (04), look-back saves the counting (05).
// The alternative is bitonic sort (01): no scan, fixed pairs, but log2(n)^2 / 2 rounds, and it is not stable by itself.

// The rest is for the checks.
#include "sort.cuh"
#include "whiteboard.cuh"
LADDER_STEP(Sort, checked<launch>);
