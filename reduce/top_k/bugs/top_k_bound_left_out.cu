// bug: only elements above the bound are taken, but the bound itself is the k-th greatest of the maxima
// caught by: cpu forward | was never written
// caught by: cpu-asan forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../warp_list.cuh"

constexpr int kBlock = 256, kLoads = 4;

template <int kParts>
__global__ void top_k_bound_left_out(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                                     std::size_t rows, unsigned cols, unsigned k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;

  // kParts maxima per lane, so that there are at least k maxima
  int greatest[kParts];
#pragma unroll
  for (int part = 0; part < kParts; ++part) greatest[part] = no_element().key;
  for (unsigned first = lane; first < cols; first += 32 * kLoads) {
    float v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) v[i] = first + 32 * i < cols ? x[first + 32 * i] : -INFINITY;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (first + 32 * i < cols) greatest[i % kParts] = max(greatest[i % kParts], argmax_key(v[i]));
    }
  }
  WarpList<kParts> maxima;
#pragma unroll
  for (int part = 0; part < kParts; ++part) maxima.offer(pair_of_key(greatest[part], 32 * part + lane), k);

  WarpList<kParts> list(maxima.at(k - 1) | 0xffffffffu);
  for (unsigned first = lane; first - lane < cols; first += 32 * kLoads) {
    float v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) v[i] = first + 32 * i < cols ? x[first + 32 * i] : -INFINITY;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const unsigned c = first + 32 * i;
      list.offer(c < cols ? pair_of(v[i], c) : kNoPair, k);
    }
  }
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const unsigned place = 32 * part + lane;
    if (place < k && list.best[part] != kNoPair) {
      store_result(x, values + row * k, indices + row * k, place, list.best[part]);
    }
  }
}

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  const auto kernel = k <= 32 ? top_k_bound_left_out<1> : top_k_bound_left_out<2>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  kernel<<<grid, kBlock>>>(x, values, indices, rows, static_cast<unsigned>(cols), static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch);
