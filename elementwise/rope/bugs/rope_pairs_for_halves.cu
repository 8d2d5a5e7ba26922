// bug: rotates neighbours in both layouts: right for weights in the paper's order, wrong for those of most libraries
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../rope.cuh"

__global__ void rope_neighbours(const float* __restrict__ x, const int* __restrict__ position, float* __restrict__ y,
                                unsigned row, unsigned d) {
  x += std::size_t{blockIdx.x} * row;
  y += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned i = e % (d / 2);
    float sine, cosine;
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine, &cosine);
    const float a = x[2 * e], b = x[2 * e + 1];
    y[2 * e] = a * cosine - b * sine;
    y[2 * e + 1] = a * sine + b * cosine;
  }
}

static void launch(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads, std::size_t d,
                   bool) {
  if (tokens == 0 || heads == 0) return;
  rope_neighbours<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                          static_cast<unsigned>(d));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
