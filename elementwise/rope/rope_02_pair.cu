// Problem:  step 01 computes each sine twice and loads each element twice.
// Idea:     one thread per pair: one sincosf, two loads, two stores.
// Expect:   1.3 to 1.9x step 01 at 16384x32x64x0: half the instructions per element, and twice the bytes per thread.
// Measured: 1.57x step 01, 0.71 of a copy at 16384x32x64 (H200); 1.40x, 0.87 (H100).
// Next:     neighbouring pairs lie 8 bytes apart, pairs of halves 4. What does a warp's request touch in each case?
#include "rope.cuh"

__global__ void rope_pair(const float* __restrict__ x, const int* __restrict__ position, float* __restrict__ y,
                          unsigned row, unsigned d, bool halves) {
  x += std::size_t{blockIdx.x} * row;
  y += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, halves);
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, halves);
    float sine, cosine;
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine, &cosine);
    const float a = x[at], b = x[at + distance];
    y[at] = a * cosine - b * sine;
    y[at + distance] = a * sine + b * cosine;
  }
}

static void launch(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads, std::size_t d,
                   bool halves) {
  if (tokens == 0 || heads == 0) return;
  rope_pair<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                    static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
