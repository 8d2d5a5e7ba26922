// bug: tests d % 8 for both layouts, but the second half of a head starts at element d / 2: with halves of 12 elements
// that is at byte 24, not a multiple of 16
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "../rope_cache.cuh"

// Converts two floats to the BF16 halves of a word, low and high, and back. BF16 is the upper half of a float.
__device__ static unsigned rounded(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  unsigned word;
  memcpy(&word, &both, sizeof word);
  return word;
}
__device__ static float low(unsigned word) { return __uint_as_float(word << 16); }
__device__ static float high(unsigned word) { return __uint_as_float(word & 0xffff0000u); }

template <bool kHalves>
__global__ void rope_cache_half_misaligned(const __nv_bfloat16* __restrict__ k, const __nv_bfloat16* __restrict__ v,
                                           const int* __restrict__ position, const int* __restrict__ slot,
                                           __nv_bfloat16* __restrict__ key_cache,
                                           __nv_bfloat16* __restrict__ value_cache, unsigned row, unsigned d,
                                           bool aligned) {
  __shared__ float sine[kMostWidth / 2], cosine[kMostWidth / 2];
  const int to = slot[blockIdx.x];
  if (to < 0) return;
  const std::size_t source = std::size_t{blockIdx.x} * row, target = static_cast<std::size_t>(to) * row;
  const auto p = static_cast<float>(position[blockIdx.x]);
  const unsigned half = d / 2, distance = pair_distance(d, kHalves);
  for (unsigned i = threadIdx.x; i < half; i += blockDim.x) {
    sincosf(p * exp2f(-kLog2Base * (static_cast<float>(2 * i) / static_cast<float>(d))), &sine[i], &cosine[i]);
  }
  __syncthreads();

  constexpr unsigned kAccesses = kHalves ? 2 : 1, kPairs = 4 * kAccesses;  // per thread
  for (unsigned e = kPairs * threadIdx.x; aligned && e < row / 2; e += kPairs * blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, kHalves);
    uint4 keys[kAccesses], values[kAccesses];  // load
#pragma unroll
    for (unsigned n = 0; n < kAccesses; ++n) {
      keys[n] = *reinterpret_cast<const uint4*>(k + source + at + n * distance);
      values[n] = *reinterpret_cast<const uint4*>(v + source + at + n * distance);
    }
    // rotate: pairs within a word, or between the words of two halves
    unsigned words[kAccesses][4];
    memcpy(words, keys, sizeof words);
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      if constexpr (kHalves) {
        const unsigned a = words[0][w], b = words[1][w], j = i + 2 * w;
        words[0][w] = rounded(low(a) * cosine[j] - low(b) * sine[j], high(a) * cosine[j + 1] - high(b) * sine[j + 1]);
        words[1][w] = rounded(low(a) * sine[j] + low(b) * cosine[j], high(a) * sine[j + 1] + high(b) * cosine[j + 1]);
      } else {
        const float a = low(words[0][w]), b = high(words[0][w]), s = sine[i + w], c = cosine[i + w];
        words[0][w] = rounded(a * c - b * s, a * s + b * c);
      }
    }
    memcpy(keys, words, sizeof words);
#pragma unroll
    for (unsigned n = 0; n < kAccesses; ++n) {  // store
      *reinterpret_cast<uint4*>(key_cache + target + at + n * distance) = keys[n];
      *reinterpret_cast<uint4*>(value_cache + target + at + n * distance) = values[n];
    }
  }
  for (unsigned e = threadIdx.x; !aligned && e < row / 2; e += blockDim.x) {
    const unsigned i = e % half, at = e / half * d + first_of_pair(i, kHalves);
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
  const bool aligned = d % 8 == 0 && aligned_for<uint4>(k, v, key_cache, value_cache);
  const auto kernel = halves ? rope_cache_half_misaligned<true> : rope_cache_half_misaligned<false>;
  kernel<<<static_cast<unsigned>(tokens), 128>>>(k, v, position, slot, key_cache, value_cache,
                                                 static_cast<unsigned>(heads * d), static_cast<unsigned>(d), aligned);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(RopeCache, launch);
