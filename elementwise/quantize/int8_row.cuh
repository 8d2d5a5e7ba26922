// Shared by the steps of `quantize`: the largest magnitude of a row, and the division by a scale.
#pragma once
#include "quantize.cuh"

// Returns the bits of |v|, which compare as unsigned like |v|, with NaN above infinity: an integer maximum keeps NaN.
__device__ inline unsigned magnitude(float v) { return __float_as_uint(v) & 0x7fffffff; }
__device__ inline unsigned magnitude(float4 v) {
  return max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w)));
}
__device__ inline float scale_of(unsigned greatest) { return __uint_as_float(greatest) / 127.0f; }

// Maximum over the warp, returned to every lane. All 32 lanes must call it.
__device__ inline unsigned warp_max(unsigned v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = max(v, __shfl_xor_sync(0xffffffff, v, offset));
  return v;
}

// Maximum over a block of kBlock threads (a multiple of 32), returned to all. All must call it, and only once.
template <int kBlock>
__device__ inline unsigned block_max(unsigned v) {
  __shared__ unsigned warps[kBlock / 32];
  v = warp_max(v);
  if (kBlock == 32) return v;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) warps[warp] = v;
  __syncthreads();
  return warp_max(lane < kBlock / 32 ? warps[lane] : 0);
}

// Divides by a scale, with one division per row and one product per element: two roundings instead of x / scale's one.
struct Quantizer {
  float lift, inverse;

  // 1 / scale overflows below 2^-128. Below 2^-126, scale and elements are therefore multiplied by 2^64 first, which is
  // exact. A scale of 0, infinity or NaN gets the inverse 0.
  __device__ explicit Quantizer(float scale) {
    lift = scale < 0x1p-126f ? 0x1p64f : 1.0f;
    inverse = scale > 0.0f && scale < INFINITY ? 1.0f / (scale * lift) : 0.0f;
  }
  // __float2int_rn rounds ties to even and turns NaN (infinity or NaN times 0) into 0. Subnormal scales need the clamp.
  __device__ signed char operator()(float v) const {
    return static_cast<signed char>(max(-127, min(127, __float2int_rn(v * lift * inverse))));
  }
  __device__ char4 operator()(float4 v) const {
    return make_char4((*this)(v.x), (*this)(v.y), (*this)(v.z), (*this)(v.w));
  }
};

// If x is at a 16-byte boundary, q may still be misaligned: four elements take one store if q is aligned, else four.
__device__ inline bool is_aligned_for_char4(const std::int8_t* q) {
  return reinterpret_cast<std::uintptr_t>(q) % alignof(char4) == 0;
}
__device__ inline void store_char4(std::int8_t* q, char4 v, bool aligned) {
  if (aligned) {
    *reinterpret_cast<char4*>(q) = v;
  } else {
    q[0] = v.x, q[1] = v.y, q[2] = v.z, q[3] = v.w;
  }
}
