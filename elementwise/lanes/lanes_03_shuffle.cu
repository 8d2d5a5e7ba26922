// Problem:  step 02 takes a store, three loads and two barriers for three values per round.
// Idea:     shuffles read another lane's register: __shfl_sync from lane 0 broadcasts, from the next lane rotates;
//           __shfl_xor_sync swaps partners. The mask names the lanes that take part.
// Expect:   1.3 to 2x step 02: three shuffles instead of four equally wide accesses to shared memory, no barrier.
// Measured: 1.28x step 02, 0.33 of a copy at 2^24 (H200); 1.28x, 0.43 (H100).
// Why:      shuffles and shared memory both deliver 32 words per clock: 48 passes per warp here, 64 in step 02.
// Next:     would __shfl_down_sync rotate too?
#include "lanes.cuh"

constexpr int kBlock = 256;
constexpr unsigned kAll = 0xffffffff;

__global__ void lanes_shuffle(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const unsigned lane = threadIdx.x % kGroup;
  // elements of this group: 32, or the remainder; threads past the end stay, because the masks name all lanes
  const std::size_t left = i - lane < n ? n - (i - lane) : 1;
  const unsigned width = static_cast<unsigned>(left < kGroup ? left : kGroup);
  const unsigned next = lane + 1 < width ? lane + 1 : 0;
  const bool has_partner = (lane ^ 1) < width;

  unsigned v = i < n ? static_cast<unsigned>(x[i]) : 0;
  for (int round = 0; round < kRounds; ++round) {
    const unsigned of_partner = __shfl_xor_sync(kAll, v, 1);
    v = mix(__shfl_sync(kAll, v, next), has_partner ? of_partner : v, __shfl_sync(kAll, v, 0));
  }
  if (i < n) y[i] = static_cast<int>(v);
}

static void launch(const int* x, int* y, std::size_t n) {
  if (n == 0) return;
  lanes_shuffle<<<ceil_div(n, kBlock), kBlock>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Lanes, launch);
