// Problem:  new keys are rotated, then written with their values to the slots of a cache: a rotation and a copy.
// Idea:     two kernels, as two calls of a framework: rope into a second array, then a copy of both to the slots.
// Expect:   0.3 to 0.45 of a copy at 65536x64/halves=1: 12 bytes move per element of k and its v, where 8 are needed,
//           in accesses of 2 bytes, as in add_half2_01, which has 0.50 (H200).
// Measured: 0.36 of a copy at 65536x64/halves=1 (H200); 0.45 (H100).
// Next:     what does the second kernel read that the first has just written?
#include "rope_cache.cuh"

__global__ void rope_to(const __nv_bfloat16* __restrict__ k, const int* __restrict__ position,
                        __nv_bfloat16* __restrict__ turned, unsigned row, unsigned d, bool halves) {
  __shared__ float sine[kMostWidth / 2], cosine[kMostWidth / 2];
  k += std::size_t{blockIdx.x} * row;  // a block per token
  turned += std::size_t{blockIdx.x} * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, halves);
  for (unsigned i = threadIdx.x; i < half; i += blockDim.x) {
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine[i], &cosine[i]);
  }
  __syncthreads();
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, halves);
    const float a = __bfloat162float(k[at]), b = __bfloat162float(k[at + distance]);
    turned[at] = __float2bfloat16(a * cosine[i] - b * sine[i]);
    turned[at + distance] = __float2bfloat16(a * sine[i] + b * cosine[i]);
  }
}

__global__ void copy_to_slots(const __nv_bfloat16* __restrict__ k, const __nv_bfloat16* __restrict__ v,
                              const int* __restrict__ slot, __nv_bfloat16* __restrict__ key_cache,
                              __nv_bfloat16* __restrict__ value_cache, unsigned row) {
  const int to = slot[blockIdx.x];
  if (to < 0) return;  // padding
  const std::size_t source = std::size_t{blockIdx.x} * row, target = static_cast<std::size_t>(to) * row;
  for (unsigned e = threadIdx.x; e < row; e += blockDim.x) {
    key_cache[target + e] = k[source + e];
    value_cache[target + e] = v[source + e];
  }
}

static void launch(const __nv_bfloat16* k, const __nv_bfloat16* v, const int* position, const int* slot,
                   __nv_bfloat16* key_cache, __nv_bfloat16* value_cache, std::size_t tokens, std::size_t heads,
                   std::size_t d, bool halves) {
  if (tokens == 0 || heads == 0) return;  // a grid of 0 blocks is an error
  const auto grid = static_cast<unsigned>(tokens), row = static_cast<unsigned>(heads * d);
  auto* turned = scratch<__nv_bfloat16>(tokens * row);
  rope_to<<<grid, 256>>>(k, position, turned, row, static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
  copy_to_slots<<<grid, 256>>>(turned, v, slot, key_cache, value_cache, row);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RopeCache, launch, true);
