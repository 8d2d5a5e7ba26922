// Problem:  step 01 uses one thread.
// Idea:     Hillis-Steele in one block, tile by tile: in rounds with offsets 1, 2, 4, ... each thread adds the value
//           `offset` to its left.
// Expect:   20 to 60x step 01: 256 elements in 9 barriers, about 1.5 us per tile with the latency of its load.
// Measured: 0.001x CUB at 2^28 (H200).
// Why:      14.5x step 01 at 2^20 (H200): 0.67 us per tile, but a tile has only 256 elements.
// Next:     why two buffers? (With one, a thread may overwrite what its neighbour has yet to read: one barrier more.)
#include "scan.cuh"

constexpr int kBlock = 256;

__global__ void scan_hillis_steele(const float* __restrict__ x, float* __restrict__ out, std::size_t n,
                                   bool exclusive) {
  __shared__ float tile[2][kBlock];
  const int tid = threadIdx.x;
  int buffer = 0;
  float before = 0.0f;  // sum of all earlier tiles
  if (exclusive && tid == 0) out[0] = 0.0f;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    // load: one element per thread, 0 past the end
    const std::size_t i = begin + tid;
    float sum = i < n ? x[i] : 0.0f;

    // scan: after each round `sum` covers the 2 * offset elements that end with this thread's
    for (int offset = 1; offset < kBlock; offset *= 2) {
      tile[buffer][tid] = sum;
      __syncthreads();
      if (tid >= offset) sum += tile[buffer][tid - offset];
      buffer ^= 1;
    }

    // store: the exclusive scan is the inclusive scan shifted by one
    const std::size_t to = exclusive ? i + 1 : i;
    if (to < n) out[to] = before + sum;

    // carry: the last thread has the tile's sum
    tile[buffer][tid] = sum;
    __syncthreads();
    before += tile[buffer][kBlock - 1];
    buffer ^= 1;
  }
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  scan_hillis_steele<<<1, kBlock>>>(x, out, n, exclusive);
  CUDA_CHECK(cudaGetLastError());
}

// 8 levels in the tile, then the tiles' sums one after another.
LADDER_STEP(
    Scan, launch, [](std::size_t n) { return 8 + ceil_div(n, kBlock); }, /*timed=*/std::size_t{1} << 24);
