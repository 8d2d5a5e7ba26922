// bug: no barrier before the thread with the k-th changes `wanted`, which others may still have to read
// caught by: cpu reverse | invalid address
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=7 --cols=1025 --k=8
// stage: memory
#include "../top_k_pair.cuh"

constexpr int kBlock = 256, kMostK = 64;

// Returns the sum of v over this thread and those before it. All threads must call it, once between two barriers.
__device__ static unsigned running_sum(unsigned v) {
  __shared__ unsigned warps[kBlock / 32];
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

__global__ void top_k_without_barrier(const float* __restrict__ x, float* __restrict__ values,
                                      int* __restrict__ indices, unsigned cols, unsigned k) {
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
    for (unsigned c = tid; c < cols; c += kBlock) {
      const Pair pair = pair_of(x[c], c);
      if (shift == 56 || (pair ^ kth) >> (shift + 8) == 0) atomicAdd(&counts[pair >> shift & 255], 1u);
    }
    __syncthreads();
    const unsigned digit = 255 - tid, here = counts[digit], most = running_sum(here), before = most - here;
    if (before < wanted && wanted <= most) {
      wanted -= before;
      kth |= Pair{digit} << shift;
      all = wanted == here;
    }
    __syncthreads();
  } while (!all);

  // collect these k pairs, in any order
  for (unsigned c = tid; c < cols; c += kBlock) {
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

static void launch(const float* x, float* values, int* indices, std::size_t rows, std::size_t cols, std::size_t k) {
  if (rows == 0 || k == 0) return;  // a grid of 0 blocks is an error
  top_k_without_barrier<<<static_cast<unsigned>(rows), kBlock>>>(x, values, indices, static_cast<unsigned>(cols),
                                                                 static_cast<unsigned>(k));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(TopK, launch);
