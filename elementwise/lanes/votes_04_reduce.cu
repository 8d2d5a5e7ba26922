// needs: sm_80
// Problem:  steps 02 and 03 spend five shuffles and five additions on the sum of a warp.
// Idea:     __reduce_add_sync: the sum over the lanes of a mask in one instruction, for 32-bit integers, from sm_80 on.
//           There are min, max, and, or, xor, too. The maximum over eight lanes takes a mask of eight.
// Expect:   1.0 to 1.2x step 02 at 2^28: 3 shuffles and one REDUX instead of 8 shuffles. For masks of eight lanes the
//           warp would run the instruction four times, so the maximum keeps its shuffles.
// Measured: 1.35x step 03, 0.48 of a copy at 2^28 (H200).
// Next:     how do you reduce floats? (By shuffles. On sm_100a PTX has min and max of f32.)
#include "votes.cuh"

constexpr unsigned kAll = 0xffffffff;

__global__ void votes_reduce(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const bool in = i < n;  // threads past the end stay: masks and barriers include all
  const int v = in ? x[i] : 0;
  const bool negative = in && v < 0;

  // lanes with the same low bits: those that agree in each bit
  unsigned agree = __ballot_sync(kAll, in);
  for (int bit = 1; bit <= kLowBits; bit *= 2) {
    const unsigned set = __ballot_sync(kAll, (v & bit) != 0);
    agree &= (v & bit) != 0 ? set : ~set;
  }
  const bool alike = __all_sync(kAll, negative || !in) || !__any_sync(kAll, negative);

  const unsigned sum = __reduce_add_sync(kAll, static_cast<unsigned>(v));
  int top = in ? v : -2147483647 - 1;
  for (int distance = 4; distance > 0; distance /= 2) top = max(top, __shfl_xor_sync(kAll, top, distance, 8));

  const int negatives = __syncthreads_count(negative);
  const bool round = __syncthreads_or(in && (v & kRound) == 0) != 0;
  if (in) y[i] = mix_votes(sum, top, __popc(agree), alike, negatives, round);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  votes_reduce<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Votes, launch);
