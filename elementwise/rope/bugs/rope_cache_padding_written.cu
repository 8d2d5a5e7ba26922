// bug: no test for a negative slot: padding tokens are written before the start of the cache
// caught by: cpu forward | key_cache was written before its start
// caught by: cpu-asan forward | key_cache was written before its start
// caught by: gpu | key_cache was written before its start
// stage: memory
#include "../rope_cache.cuh"

__global__ void rope_cache_padding_written(const __nv_bfloat16* __restrict__ k, const __nv_bfloat16* __restrict__ v,
                                           const int* __restrict__ position, const int* __restrict__ slot,
                                           __nv_bfloat16* __restrict__ key_cache,
                                           __nv_bfloat16* __restrict__ value_cache, unsigned row, unsigned d,
                                           bool halves) {
  __shared__ float sine[kMostWidth / 2], cosine[kMostWidth / 2];
  const std::size_t source = std::size_t{blockIdx.x} * row, target = std::size_t{row} * slot[blockIdx.x];
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, halves);
  for (unsigned i = threadIdx.x; i < half; i += blockDim.x) {
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine[i], &cosine[i]);
  }
  __syncthreads();
  for (unsigned e = threadIdx.x; e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, halves);
    const float a = __bfloat162float(k[source + at]), b = __bfloat162float(k[source + at + distance]);
    key_cache[target + at] = __float2bfloat16(a * cosine[i] - b * sine[i]);
    key_cache[target + at + distance] = __float2bfloat16(a * sine[i] + b * cosine[i]);
    value_cache[target + at] = v[source + at];
    value_cache[target + at + distance] = v[source + at + distance];
  }
}

static void launch(const __nv_bfloat16* k, const __nv_bfloat16* v, const int* position, const int* slot,
                   __nv_bfloat16* key_cache, __nv_bfloat16* value_cache, std::size_t tokens, std::size_t heads,
                   std::size_t d, bool halves) {
  if (tokens == 0 || heads == 0) return;
  rope_cache_padding_written<<<static_cast<unsigned>(tokens), 256>>>(
      k, v, position, slot, key_cache, value_cache, static_cast<unsigned>(heads * d), static_cast<unsigned>(d), halves);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RopeCache, launch);
