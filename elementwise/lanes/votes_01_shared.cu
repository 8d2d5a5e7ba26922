// Problem:  each thread needs facts about all others of its warp and block: how many, whether all, and which.
// Idea:     shared memory: every thread reads the values of its group of 32 and counts. One thread of each group stores
//           how many are negative, and all threads add those up.
// Expect:   0.1 to 0.2 of a copy at 2^28: 57 loads per thread. Most are broadcasts, none has bank conflicts, so each
//           load is one wavefront. The loop has 34 instructions per four elements (SASS); issue slots are the limit.
// Measured: 0.11 of a copy at 2^28 (H200).
// Next:     what could the warp tell each lane in one instruction?
#include "votes.cuh"

__global__ void votes_shared(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  __shared__ int tile[kBlock], negatives_of[kBlock / 32];
  __shared__ bool round_of[kBlock / 32];
  const int tid = threadIdx.x, first = tid / 32 * 32;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + tid;
  // elements of this block and of this group of 32; threads past the end stay for the barriers
  const int in_block = static_cast<int>(n - (i - tid) < kBlock ? n - (i - tid) : kBlock);
  const int end = min(first + 32, in_block);
  tile[tid] = i < n ? x[i] : 0;
  __syncthreads();

  const int v = tile[tid];
  unsigned sum = 0;
  int same = 0, negatives = 0, top = v;
  bool round = false;
  for (int k = first; k < end; ++k) {
    sum += static_cast<unsigned>(tile[k]);
    same += (tile[k] & kLowBits) == (v & kLowBits);
    negatives += tile[k] < 0;
    round |= (tile[k] & kRound) == 0;
  }
  const bool alike = negatives == 0 || negatives == end - first;
  for (int k = tid / 8 * 8; k < min(tid / 8 * 8 + 8, end); ++k) top = max(top, tile[k]);
  if (tid == first) {
    negatives_of[tid / 32] = negatives;
    round_of[tid / 32] = round;
  }
  __syncthreads();
  negatives = 0;
  for (int w = 0; w < kBlock / 32; ++w) {
    negatives += negatives_of[w];
    round |= round_of[w];
  }
  if (i < n) y[i] = mix_votes(sum, top, same, alike, negatives, round);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  votes_shared<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Votes, launch);
