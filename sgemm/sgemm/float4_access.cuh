// float4 accesses, with scalar ones at a matrix's edges, for steps 07 to 14 and any_shape.
#pragma once
#include "sgemm.cuh"

// Returns the float4 at p, whose address must be a multiple of 16.
__device__ inline const float4& as4(const float& p) { return reinterpret_cast<const float4&>(p); }
__device__ inline float4& as4(float& p) { return reinterpret_cast<float4&>(p); }

// Loads p[0] to p[3]. From p[left] on nothing is read, and 0 is returned.
__device__ inline float4 load4_guarded(const float* p, long long left) {
  return make_float4(left > 0 ? p[0] : 0.0f, left > 1 ? p[1] : 0.0f, left > 2 ? p[2] : 0.0f, left > 3 ? p[3] : 0.0f);
}

// Stores c = v + beta c for c[0] to c[3], or for the first `left` of them. If beta = 0, c is not read.
__device__ inline void store4_guarded(float* c, float4 v, float beta, long long left) {
  const float values[] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (j < left) c[j] = beta == 0.0f ? values[j] : values[j] + beta * c[j];
  }
}

// Stores c = v + beta c for four floats at a 16-byte aligned address. If beta = 0, c is not read.
__device__ inline void store4(float& c, float4 v, float beta) {
  if (beta != 0.0f) {
    const float4 old = as4(c);
    v = make_float4(v.x + beta * old.x, v.y + beta * old.y, v.z + beta * old.z, v.w + beta * old.w);
  }
  as4(c) = v;
}

// Stores C = alpha s + beta C for those of four neighbours in a row that are inside C. `aligned`: rows of C are 16-byte
// aligned. Only for steps 13 and 14: the registers of their main loop depend on it (README.md).
__device__ inline void store4_scaled(long long M, long long N, float alpha, float4 s, float beta, float* __restrict__ C,
                                     long long ldc, long long row, long long col, bool aligned) {
  float* c = &C[row * ldc + col];
  if (aligned && row < M && col + 4 <= N) {
    const float4 old = beta == 0.0f ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : as4(*c);
    as4(*c) = make_float4(alpha * s.x + beta * old.x, alpha * s.y + beta * old.y, alpha * s.z + beta * old.z,
                          alpha * s.w + beta * old.w);
  } else {
    const float v[] = {alpha * s.x, alpha * s.y, alpha * s.z, alpha * s.w};
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (row < M && col + x < N) c[x] = beta == 0.0f ? v[x] : v[x] + beta * c[x];
    }
  }
}
