// bug: sorted candidates are merged front to front without reversing one list, so large elements are lost
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../warp_list.cuh"

constexpr int kBlock = 256;

template <int kParts>
__device__ void offer_forward(WarpList<kParts>& list, Pair pair, unsigned k) {
  if (!__any_sync(0xffffffff, pair > list.last)) return;
  pair = sorted_descending(pair);
  list.merge([&](int part) { return part == kParts - 1 ? pair : kNoPair; });
  list.last = max(list.last, list.at(k - 1));
}

template <int kParts>
__global__ void top_k_merge_forward(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                                    std::size_t rows, unsigned cols, unsigned k) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= rows) return;  // the whole warp returns; no __syncthreads() follows
  x += row * cols;

  WarpList<kParts> list;
  for (unsigned first = 0; first < cols; first += 32) {
    const unsigned c = first + lane;
    offer_forward(list, c < cols ? pair_of(x[c], c) : kNoPair, k);
  }
  list.store(x, values + row * k, indices + row * k, k);
}

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  const auto kernel = k <= 32 ? top_k_merge_forward<1> : top_k_merge_forward<2>;
  const auto grid = static_cast<unsigned>(ceil_div(rows, kBlock / 32));
  kernel<<<grid, kBlock>>>(x, values, indices, rows, static_cast<unsigned>(cols), static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch);
