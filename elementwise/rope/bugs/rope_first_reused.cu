// bug: rotates in place, so the pair's second element is computed from the first one, which is already rotated
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../rope.cuh"

__global__ void rope_first_reused(const float* __restrict__ x, const int* __restrict__ position, float* __restrict__ y,
                                  unsigned row, unsigned d, bool halves) {
  x += std::size_t{blockIdx.x} * row;
  y += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, halves);
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, halves);
    float sine, cosine;
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine, &cosine);
    y[at] = x[at];
    y[at + distance] = x[at + distance];
    y[at] = y[at] * cosine - y[at + distance] * sine;
    y[at + distance] = y[at] * sine + y[at + distance] * cosine;
  }
}

static void launch(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads, std::size_t d,
                   bool halves) {
  if (tokens == 0 || heads == 0) return;
  rope_first_reused<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                            static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
