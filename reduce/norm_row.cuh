// Shared by the norms' any_shape candidates: a call's arguments, operations on elements, merges of a row's parts.
#pragma once
#include "any_shape.cuh"
#include "norm_float4.cuh"
#include "norm_problem.cuh"
#include "moments.cuh"
#include "peeled.cuh"

enum class Norm { layer, rms, add_rms };

// A norm without beta gets gamma in its place, and a norm without residual gets y.
struct NormCall {
  const float *x, *gamma, *beta;
  float *residual, *y;
  std::size_t rows, cols;
  float epsilon;

  Shape shape() const {
    return {rows, cols, alignment(x), alignment(gamma), alignment(beta), alignment(residual), alignment(y)};
  }
  template <typename Visit>
  void outputs(const Visit& visit) {
    const bool adds = residual != y;
    visit(y, rows * cols, false);
    if (adds) visit(residual, rows * cols, true);
  }
};

// Returns the shared memory that a block may have, at most 227 KB, because drivers have reported more.
inline std::size_t most_shared_bytes() {
  return std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10);
}

// Returns the sum over each group of kLanes neighbouring lanes to all its lanes. All 32 lanes must call it.
template <unsigned kLanes>
__device__ inline float lanes_sum(float v) {
#pragma unroll
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffff, v, offset);
  return v;
}

// Merges the parts of kLanes neighbouring lanes (RMS: only squares), returned to each. All 32 lanes must call it.
template <Norm kNorm, unsigned kLanes = 32>
__device__ Moments merge_lanes(Moments part) {
  if constexpr (kNorm != Norm::layer) return {0.0f, 0.0f, lanes_sum<kLanes>(part.squares)};
  const float n = lanes_sum<kLanes>(part.n), mean = lanes_sum<kLanes>(part.n * part.mean) / fmaxf(n, 1.0f);
  const float d = part.mean - mean;
  return {n, mean, lanes_sum<kLanes>(part.squares + part.n * d * d)};
}

// Merges the parts of kWarps warps, returned to all threads. All must call it, with a barrier before `warps` is reused.
template <Norm kNorm, unsigned kWarps>
__device__ Moments merge_warps(Moments m, float4 (&warps)[kWarps]) {
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = {m.n, m.mean, m.squares, 0.0f};
  __syncthreads();
  const float4 warp = warps[threadIdx.x % kWarps];
  return merge_lanes<kNorm, kWarps>({warp.x, warp.y, warp.z});
}

// Returns p[0] to p[3], with one load if p is aligned. __ldcg bypasses L1, which is kept for gamma and beta.
__device__ inline float4 load_unit(const float* p, bool aligned) {
  if (aligned) return __ldcg(reinterpret_cast<const float4*>(p));
  return {__ldcg(p), __ldcg(p + 1), __ldcg(p + 2), __ldcg(p + 3)};
}
// Loads four elements of gamma or beta, through L1.
__device__ inline float4 load_scale(const float* p, bool aligned) {
  if (aligned) return *reinterpret_cast<const float4*>(p);
  return {p[0], p[1], p[2], p[3]};
}

// Returns four elements of a row: x, which is aligned, or x + residual, which it also stores to residual.
template <Norm kNorm>
__device__ float4 load_row(const float* x, float* residual, bool alike) {
  float4 z = load_unit(x, true);
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

// Returns y of a row's elements from the mean (0 except in layer_norm) and `factor`, 1 / deviation.
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
