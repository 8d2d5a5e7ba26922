// Problem:  all heads of a token have the same angles, but step 02 computes them once per head.
// Idea:     a block computes the token's d / 2 sines and cosines once, into shared memory; its heads read them there.
// Expect:   1.1 to 1.6x step 02 at 16384x32x64x0: 64 sincosf per token in place of 2048. What is left is a kernel with
//           4-byte accesses, but eight pairs per thread: more than the 0.64 of a copy (H200) of one float per thread.
// Measured: 1.23x step 02, 0.88 of a copy at 16384x32x64 (H200); 1.09x, 0.95 (H100).
// Next:     little arithmetic is left. Why is it still slower than a copy?
#include "rope.cuh"

__global__ void rope_heads(const float* __restrict__ x, const int* __restrict__ position, float* __restrict__ y,
                           unsigned row, unsigned d, bool halves) {
  __shared__ float sine[kMostWidth / 2], cosine[kMostWidth / 2];
  x += std::size_t{blockIdx.x} * row;
  y += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, halves);

  // angles: a pair per thread
  for (unsigned i = threadIdx.x; i < half; i += blockDim.x) {
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine[i], &cosine[i]);
  }
  __syncthreads();

  // rotate all heads
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, halves);
    const float a = x[at], b = x[at + distance];
    y[at] = a * cosine[i] - b * sine[i];
    y[at + distance] = a * sine[i] + b * cosine[i];
  }
}

static void launch(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads, std::size_t d,
                   bool halves) {
  if (tokens == 0 || heads == 0) return;
  rope_heads<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                     static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
