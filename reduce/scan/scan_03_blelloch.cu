// Problem:  step 02 makes n log2(n) additions: 8 rounds in which nearly all threads add, for 256 elements.
// Idea:     Blelloch: an up-sweep adds in a tree and keeps the partial sums in place. A down-sweep gives each node the
//           sum of everything to its left. 2n additions in 2 log2(n) rounds.
// Expect:   0.6 to 1.1x step 02: 21 barriers per 512 elements against 9 per 256, and bank conflicts.
// Measured: 0.98x step 02, 0.001x CUB at 2^28 (H200).
// Next:     where do the conflicts come from? (Neighbouring threads are 2 * stride words apart, so they share few
//           banks.)
#include "scan.cuh"

constexpr int kBlock = 256;
constexpr int kTile = 2 * kBlock;

__global__ void scan_blelloch(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive) {
  __shared__ float tile[kTile];
  const int tid = threadIdx.x;
  float before = 0.0f;  // sum of all earlier tiles
  for (std::size_t begin = 0; begin < n; begin += kTile) {
    // load: two elements per thread, 0 past the end
    const std::size_t i = begin + tid, j = i + kBlock;
    const float a = i < n ? x[i] : 0.0f, b = j < n ? x[j] : 0.0f;
    tile[tid] = a;
    tile[tid + kBlock] = b;

    // up-sweep: each node becomes the sum of its two children
    for (int stride = 1; stride < kTile; stride *= 2) {
      __syncthreads();
      const int right = (tid + 1) * 2 * stride - 1, left = right - stride;
      if (right < kTile) tile[right] += tile[left];
    }

    // root: carry its sum to the next tile, then replace it by the sum of all earlier tiles
    __syncthreads();
    const float sum = tile[kTile - 1];
    __syncthreads();
    if (tid == 0) tile[kTile - 1] = before;
    before += sum;

    // down-sweep: the left child gets the node's prefix, the right child that plus the left child's sum
    for (int stride = kTile / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int right = (tid + 1) * 2 * stride - 1, left = right - stride;
      if (right < kTile) {
        const float sum_of_left = tile[left];
        tile[left] = tile[right];
        tile[right] += sum_of_left;
      }
    }
    __syncthreads();

    // store: the tile holds the exclusive scan
    if (i < n) out[i] = exclusive ? tile[tid] : tile[tid] + a;
    if (j < n) out[j] = exclusive ? tile[tid + kBlock] : tile[tid + kBlock] + b;
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  scan_blelloch<<<1, kBlock>>>(x, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

// 9 levels up, 9 down and the element itself; then the tiles' sums one after another.
LADDER_STEP(
    Scan, launch, [](std::size_t n) { return 19 + ceil_div(n, kTile); }, /*timed=*/std::size_t{1} << 24);
