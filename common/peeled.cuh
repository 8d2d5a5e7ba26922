// Rows and vectors that start anywhere: the elements before the first 16-byte boundary and those after the last one are
// peeled off; between them are whole float4, or 16 bytes of another type.
#pragma once
#include "cuda_helpers.cuh"

// x[0] to x[n - 1] as `head` elements, `units` of 16 bytes from x + head on, and `tail` elements, fewer than a unit has.
// The head ends at a multiple of kAlign bytes: of 16, or of 128, so that a warp's units lie in whole lines; then it is
// longer.
template <unsigned kAlign = 16, typename T = float>
struct Peeled {
  static constexpr unsigned kUnit = 16 / sizeof(T), kMostHead = kAlign / sizeof(T) - 1;
  unsigned head, tail;
  std::size_t units;

  __device__ Peeled(const T* x, std::size_t n) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(x) % kAlign);
    const auto wanted = static_cast<unsigned>((kAlign - past) % kAlign / sizeof(T));
    head = wanted < n ? wanted : static_cast<unsigned>(n);
    units = (n - head) / kUnit;
    tail = (n - head) % kUnit;
  }
  // The place of the one element that thread t takes of head and tail, or `none`. kMostHead + kUnit - 1 threads take
  // them all.
  __device__ std::size_t edge(std::size_t t, std::size_t none) const {
    if (t < head) return t;
    return t >= kMostHead && t - kMostHead < tail ? head + kUnit * units + (t - kMostHead) : none;
  }
};

// Does y start at the same distance from a 16-byte boundary as x? Then what is a float4 of x is one of y.
inline __host__ __device__ bool alike(const float* x, const float* y) {
  return reinterpret_cast<std::uintptr_t>(x) % sizeof(float4) == reinterpret_cast<std::uintptr_t>(y) % sizeof(float4);
}

// y[0] to y[3], evict-first; four stores if y need not be aligned.
__device__ inline void store_unit(float* y, float4 v, bool aligned) {
  if (aligned) {
    __stcs(reinterpret_cast<float4*>(y), v);
  } else {
    y[0] = v.x, y[1] = v.y, y[2] = v.z, y[3] = v.w;
  }
}
