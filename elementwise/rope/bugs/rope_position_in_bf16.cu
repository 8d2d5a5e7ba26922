// bug: the position is rounded to BF16, as under autocast: it has 8 bits, so positions above 256 are off by up to
// 0.4 %, whole turns for the first pairs
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../rope.cuh"

#include <cuda_bf16.h>

__global__ void rope_position_in_bf16(const float* __restrict__ x, const int* __restrict__ position,
                                      float* __restrict__ y, unsigned row, unsigned d, bool halves) {
  x += std::size_t{blockIdx.x} * row;
  y += std::size_t{blockIdx.x} * row;
  const __nv_bfloat16 rounded = __float2bfloat16(static_cast<float>(position[blockIdx.x]));
  const float p = __bfloat162float(rounded);
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
  rope_position_in_bf16<<<static_cast<unsigned>(tokens), 256>>>(x, position, y, static_cast<unsigned>(heads * d),
                                                                static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Rope, launch);
