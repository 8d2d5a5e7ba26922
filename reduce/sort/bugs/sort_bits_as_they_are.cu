// bug: keys are ordered by their unchanged bits, so negative keys follow the positive ones
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../sort.cuh"

constexpr int kBlock = 256;

__device__ static unsigned order(float key) { return __float_as_uint(key); }

// A pair's index in the output is the number of pairs before it.
__global__ void sort_bits_as_they_are(const float* __restrict__ keys, const int* __restrict__ values,
                                      float* __restrict__ keys_out, int* __restrict__ values_out, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= n) return;
  std::size_t place = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const unsigned a = order(keys[j]), b = order(keys[i]);
    place += a < b || (a == b && j < i);
  }
  keys_out[place] = keys[i];
  values_out[place] = values[i];
}

static void launch(const float* keys, const int* values, float* keys_out, int* values_out, std::size_t n) {
  if (n == 0) return;
  sort_bits_as_they_are<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(keys, values, keys_out, values_out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sort, launch);
