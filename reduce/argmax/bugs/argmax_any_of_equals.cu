// bug: partners compare keys only, so of two equal maxima the lower lane's is kept, not the first in x
// caught by: cpu forward | integer data: out[0] of 1 is wrong
// caught by: gpu | integer data: out[0] of 1 is wrong
// stage: right
#include "../argmax.cuh"

constexpr int kBlock = 256;

__global__ void argmax_ties(const float* __restrict__ x, std::int64_t* __restrict__ out, std::size_t n) {
  __shared__ int keys[kBlock];
  __shared__ std::int64_t places[kBlock];
  const int tid = threadIdx.x;
  int best = static_cast<int>(0x80000000);
  std::int64_t place = -1;
  for (std::size_t i = tid; i < n; i += kBlock) {
    const float v = x[i] + 0.0f;
    const int bits = __float_as_int(v), key = v != v ? 0x7fffffff : bits ^ (bits >> 31 & 0x7fffffff);
    if (key > best) best = key, place = static_cast<std::int64_t>(i);
  }
  keys[tid] = best;
  places[tid] = place;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (tid < stride && keys[tid + stride] > keys[tid]) {  // also if equal, with a smaller index
      keys[tid] = keys[tid + stride];
      places[tid] = places[tid + stride];
    }
    __syncthreads();
  }
  if (tid == 0) *out = places[0];
}

static void launch(const float* x, std::int64_t* out, std::size_t n) {
  argmax_ties<<<1, kBlock>>>(x, out, n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Argmax, launch);
