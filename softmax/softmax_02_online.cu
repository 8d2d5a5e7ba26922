// Step 01 reads x three times. Idea: the online softmax (Milakov and Gimelshein, 2018). A pair (max, sum of exp(x -
// max)) stands for what has been seen. Two pairs merge into the larger maximum, and the sum of the sums, each
// multiplied by exp(its old max - the new one). In any order and grouping that gives what one pass over everything
// would, so threads, warps and blocks can each make a pair of their share and merge at the end. The guard: where both
// have seen only -inf, or nothing, -inf - -inf would be NaN; then nothing is subtracted. One pair per block goes to
// memory, and every block of the second kernel merges them all, which is cheaper than one more launch. The order is
// fixed: the same bits every run, where step 01's atomics give others.
// Expect: two reads and a write, two thirds of a copy's speed at best.
// Next question: two launches, because all blocks must be done. Is there another way to know that?
#include "softmax.cuh"

constexpr int kBlock = 256;

struct MaxSum {
  float max, sum;  // sum of exp(x - max); nothing seen yet is {-inf, 0}, one element x is {x, 1}
};

__device__ static MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max), shift = max == -INFINITY ? 0.0f : max;
  return {max, a.sum * expf(a.max - shift) + b.sum * expf(b.max - shift)};
}

// Merged over the warp, in every lane. All 32 lanes must call it.
__device__ static MaxSum warp_merge(MaxSum v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    v = merge(v, {__shfl_xor_sync(0xffffffff, v.max, offset), __shfl_xor_sync(0xffffffff, v.sum, offset)});
  }
  return v;
}

// Merged over the block, in every thread. All threads of the block must call it.
__device__ static MaxSum block_merge(MaxSum v) {
  __shared__ MaxSum warps[kBlock / 32];
  const int lane = threadIdx.x % 32;
  __syncthreads();  // `warps` may still be read from the call before
  v = warp_merge(v);
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  return warp_merge(lane < kBlock / 32 ? warps[lane] : MaxSum{-INFINITY, 0.0f});
}

__global__ void softmax_pairs(const float* __restrict__ x, std::size_t n, MaxSum* __restrict__ pairs) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x; i < n; i += threads) {
    s = merge(s, {x[i], 1.0f});
  }
  s = block_merge(s);
  if (threadIdx.x == 0) pairs[blockIdx.x] = s;
}

__global__ void softmax_merge_and_scale(const float* __restrict__ x, float* __restrict__ y, std::size_t n,
                                        const MaxSum* __restrict__ pairs) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  MaxSum s = {-INFINITY, 0.0f};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge(s);
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kBlock + threadIdx.x; i < n; i += threads) {
    y[i] = expf(x[i] - s.max) / s.sum;
  }
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = static_cast<std::size_t>(sm_count()) * (2048 / kBlock);
  return static_cast<unsigned>(std::min(ceil_div(n, kBlock), resident));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = grid_size(n);
  MaxSum* pairs = scratch<MaxSum>(grid);
  softmax_pairs<<<grid, kBlock>>>(x, n, pairs);
  CUDA_CHECK(cudaGetLastError());
  softmax_merge_and_scale<<<grid, kBlock>>>(x, y, n, pairs);
  CUDA_CHECK(cudaGetLastError());
}

// exp and division above; below exp, product and addition for each merge: thread, block, blocks' pairs, block again.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u);
  return 5 + 6 * (ceil_div(n, grid * kBlock) + 10 + ceil_div(grid, kBlock) + 10);
}

LADDER_STEP(Softmax, launch, roundings);
