// Problem:  step 02 needs a ballot for each bit that it compares.
// Idea:     __match_any_sync returns the lanes with the same 32- or 64-bit value, __match_all_sync whether all have the
//           same. Lanes past the end pass a value that no element has, or that of lane 0.
// Expect:   0.7 to 1.0x step 02 at 2^28: a match takes a step for each distinct value, and three ballots are cheap. It
//           wins if the values have many bits.
// Measured: 0.78x step 02, 0.36 of a copy at 2^28 (H200).
// Next:     five shuffles for a sum: is there an instruction?
#include "votes.cuh"

constexpr unsigned kAll = 0xffffffff;

__global__ void votes_match(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const bool in = i < n;  // threads past the end stay: masks and barriers include all
  const int v = in ? x[i] : 0;
  const bool negative = in && v < 0;

  const unsigned agree = __match_any_sync(kAll, in ? v & kLowBits : kLowBits + 1);
  const int of_lane_0 = __shfl_sync(kAll, static_cast<int>(negative), 0);
  int alike;
  __match_all_sync(kAll, in ? static_cast<int>(negative) : of_lane_0, &alike);

  auto sum = static_cast<unsigned>(v);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
  int top = in ? v : -2147483647 - 1;
  for (int distance = 4; distance > 0; distance /= 2) top = max(top, __shfl_xor_sync(kAll, top, distance, 8));

  const int negatives = __syncthreads_count(negative);
  const bool round = __syncthreads_and(!in || (v & kRound) != 0) == 0;  // or(p) as !and(!p)
  if (in) y[i] = mix_votes(sum, top, __popc(agree), alike != 0, negatives, round);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  votes_match<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Votes, launch);
