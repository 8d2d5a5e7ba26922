// Problem:  8 bytes and three FLOP per element, so memory bandwidth is the limit, if the angles are cheap.
// Idea:     one thread per element. It computes its pair's sine and cosine and reads its partner from L1.
// Expect:   0.3 to 0.6 of a copy at 16384x32x64x0: exp2f, sincosf and % d are about 80 instructions per element (not
//           counted), and a copy leaves 63 (H200) or 89 (H100) issue slots. 4-byte accesses alone have 0.64 (H200).
// Measured: 0.45 of a copy at 16384x32x64 (H200); 0.62 (H100).
// Next:     both elements of a pair need the same sine. Who should compute it?
#include "rope.cuh"

__global__ void rope_scalar(const float* __restrict__ x, const int* __restrict__ position, float* __restrict__ y,
                            unsigned row, unsigned d, bool halves) {
  x += std::size_t{blockIdx.x} * row;  // a block per token
  y += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  for (unsigned e = threadIdx.x; e < row; e += blockDim.x) {
    const unsigned c = e % d, half = d / 2;
    const unsigned i = halves ? c % half : c / 2;
    const bool second = halves ? c >= half : c % 2 == 1;
    const unsigned partner = halves ? (second ? e - half : e + half) : e ^ 1;
    float sine, cosine;
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine, &cosine);
    y[e] = x[e] * cosine + x[partner] * (second ? sine : -sine);
  }
}

static void launch(const float* x, const int* position, float* y, std::size_t tokens, std::size_t heads, std::size_t d,
                   bool halves) {
  if (tokens == 0 || heads == 0) return;  // a grid of 0 blocks is an error
  rope_scalar<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                      static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
