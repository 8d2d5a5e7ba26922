// bug: the pair holds the column, not its complement, so of equal elements the last comes first
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../top_k_pair.cuh"

constexpr int kBlock = 256;

__device__ static Pair pair_with_column(float v, unsigned column) { return pair_of(v, 0) >> 32 << 32 | column; }

__global__ void top_k_last_of_equals(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                                     unsigned cols, unsigned k) {
  x += std::size_t{blockIdx.x} * cols;
  values += std::size_t{blockIdx.x} * k;
  indices += std::size_t{blockIdx.x} * k;
  Pair last = kAboveAll;
  for (unsigned place = 0; place < k; ++place) {
    Pair best = kNoPair;
    for (unsigned c = threadIdx.x; c < cols; c += kBlock) {
      const Pair pair = pair_with_column(x[c], c);
      if (pair < last && pair > best) best = pair;
    }
    last = block_max_to_all<kBlock>(best);
    if (threadIdx.x == 0) {
      values[place] = x[static_cast<unsigned>(last)];
      indices[place] = static_cast<int>(static_cast<unsigned>(last));
    }
  }
}

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  top_k_last_of_equals<<<static_cast<unsigned>(rows), kBlock>>>(x, values, indices, static_cast<unsigned>(cols),
                                                                static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch);
