// What the kernels of norm_registers.cuh and norm_teams.cuh have in common: what the three norms do with four elements,
// and how parts of a row merge.
#pragma once
#include "norm_float4.cuh"
#include "norm_lanes_sum.cuh"
#include "moments.cuh"
#include "peeled.cuh"

enum class Norm { layer, rms, add_rms };

// The parts of a row that kLanes neighbouring lanes have, merged, returned to each of them: the mean of their means, and
// the squared distances of these from it. The root mean square needs the sum of squares alone. All 32 lanes must call it.
template <Norm kNorm, unsigned kLanes = 32>
__device__ Moments merge_lanes(Moments part) {
  if constexpr (kNorm != Norm::layer) return {0.0f, 0.0f, lanes_sum<kLanes>(part.squares)};
  const float n = lanes_sum<kLanes>(part.n), mean = lanes_sum<kLanes>(part.n * part.mean) / fmaxf(n, 1.0f);
  const float d = part.mean - mean;
  return {n, mean, lanes_sum<kLanes>(part.squares + part.n * d * d)};
}

// p[0] to p[3]: one load if p is aligned. __ldcg: past L1, which is for gamma and beta.
__device__ inline float4 load_unit(const float* p, bool aligned) {
  if (aligned) return __ldcg(reinterpret_cast<const float4*>(p));
  return {__ldcg(p), __ldcg(p + 1), __ldcg(p + 2), __ldcg(p + 3)};
}
// The same of gamma or beta, through L1 or from shared memory.
__device__ inline float4 load_scale(const float* p, bool aligned) {
  if (aligned) return *reinterpret_cast<const float4*>(p);
  return {p[0], p[1], p[2], p[3]};
}

// Four elements of a row: x, or x + residual, which is stored.
template <Norm kNorm>
__device__ float4 load_row(const float* x, float* residual, bool alike) {
  float4 z = __ldcg(reinterpret_cast<const float4*>(x));
  if constexpr (kNorm == Norm::add_rms) {
    z = add4(z, load_unit(residual, alike));
    store_unit(residual, z, alike);
  }
  return z;
}
template <Norm kNorm>
__device__ float load_row(const float* x, float* residual) {
  if constexpr (kNorm != Norm::add_rms) return *x;
  return *residual += *x;
}

// (v - mean)^2, or v^2
template <Norm kNorm>
__device__ float squares_of(float4 v, float mean) {
  if constexpr (kNorm == Norm::layer) v = {v.x - mean, v.y - mean, v.z - mean, v.w - mean};
  return dot4(v, v);
}

// What becomes of a row's elements, whose mean (0 but for layer_norm) and 1 / deviation are known.
template <Norm kNorm>
__device__ float4 normed(float4 v, float mean, float factor, const float* gamma, const float* beta, bool aligned) {
  const float4 g = load_scale(gamma, aligned);
  if constexpr (kNorm != Norm::layer) return scale4(v, factor, g);
  return normalise4(v, mean, factor, g, load_scale(beta, aligned));
}
template <Norm kNorm>
__device__ float normed(float v, float mean, float factor, const float* gamma, const float* beta) {
  if constexpr (kNorm != Norm::layer) return v * factor * *gamma;
  return (v - mean) * factor * *gamma + *beta;
}
