// bug: the vote is in a branch that only negative elements take, but its mask names all lanes: the others never vote
// caught by: cpu | cuda_emu: error
// not caught by: gpu | the result is undefined if lanes meet at different votes
// stage: launches and ends
#include "../votes.cuh"

constexpr unsigned kAll = 0xffffffff;

__global__ void votes_in_a_branch(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const bool in = i < n;
  const int v = in ? x[i] : 0;
  const bool negative = in && v < 0;
  const unsigned agree = __match_any_sync(kAll, in ? v & kLowBits : kLowBits + 1);
  bool alike = false;
  if (negative) {
    alike = __all_sync(kAll, negative || !in);  // must come before the branch
  } else {
    alike = !__any_sync(kAll, negative);
  }
  auto sum = static_cast<unsigned>(v);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAll, sum, distance);
  int top = in ? v : -2147483647 - 1;
  for (int distance = 4; distance > 0; distance /= 2) top = max(top, __shfl_xor_sync(kAll, top, distance, 8));
  const int negatives = __syncthreads_count(negative);
  const bool round = __syncthreads_or(in && (v & kRound) == 0) != 0;
  if (in) y[i] = mix_votes(sum, top, __popc(agree), alike, negatives, round);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  votes_in_a_branch<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Votes, launch);
