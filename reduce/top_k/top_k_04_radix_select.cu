// Problem:  a list costs more with larger k, and one list per row means one warp per row.
// Idea:     radix select, as in PyTorch: a histogram of the first 8 bits of all pairs in shared memory, then of the
//           next 8 bits of the pairs in the k-th pair's bin, and so on. Then collect the k greatest and sort them.
// Expect:   0.1 to 0.2 of a read at 4096 x 50257 for any k: three or four reads; the first digit has few values.
// Measured: 0.47x step 03, 0.12 of a read at 4096x50257x8 (H200).
// Next:     which bits decide if all elements are equal? (The column's: a pair holds both, so there are no ties.)
#include "top_k_pair.cuh"

constexpr int kSelectBlock = 256, kMostK = 64;

// Returns the sum of v over this thread and those before it. All threads must call it, once between two barriers.
__device__ static unsigned running_sum(unsigned v) {
  __shared__ unsigned warps[kSelectBlock / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const unsigned before = __shfl_up_sync(0xffffffff, v, offset);
    if (lane >= offset) v += before;
  }
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  for (unsigned w = 0; w < warp; ++w) v += warps[w];
  return v;
}

__global__ void top_k_radix_select(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices,
                                   unsigned cols, unsigned k) {
  __shared__ unsigned counts[256], wanted, found;
  __shared__ Pair kth, pairs[kMostK];
  __shared__ bool all;  // true if every pair in the k-th's bin is wanted
  const unsigned tid = threadIdx.x;
  x += std::size_t{blockIdx.x} * cols;
  if (tid == 0) wanted = k, kth = 0, found = 0, all = false;

  // find the k-th pair, 8 bits at a time, until all pairs with the same leading bits are wanted
  int shift = 64;
  do {
    shift -= 8;
    counts[tid] = 0;
    __syncthreads();
    for (unsigned c = tid; c < cols; c += kSelectBlock) {
      const Pair pair = pair_of(x[c], c);
      if (shift == 56 || (pair ^ kth) >> (shift + 8) == 0) atomicAdd(&counts[pair >> shift & 255], 1u);
    }
    __syncthreads();
    const unsigned digit = 255 - tid, here = counts[digit], most = running_sum(here), before = most - here;
    const unsigned left = wanted;
    __syncthreads();
    if (before < left && left <= most) {
      wanted = left - before;
      kth |= Pair{digit} << shift;
      all = wanted == here;
    }
    __syncthreads();
  } while (!all);

  // collect these k pairs, in any order
  for (unsigned c = tid; c < cols; c += kSelectBlock) {
    const Pair pair = pair_of(x[c], c);
    if (pair >= kth) pairs[atomicAdd(&found, 1u)] = pair;
  }
  __syncthreads();

  // a pair's position is the number of greater pairs
  if (tid >= k) return;
  unsigned place = 0;
  for (unsigned i = 0; i < k; ++i) place += pairs[i] > pairs[tid];
  store_result(x, values + std::size_t{blockIdx.x} * k, indices + std::size_t{blockIdx.x} * k, place, pairs[tid]);
}

static void launch_radix_select(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols,
                                std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  top_k_radix_select<<<static_cast<unsigned>(rows), kSelectBlock>>>(x, values, indices, static_cast<unsigned>(cols),
                                                                    static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch_radix_select);
