// Rows and vectors that start anywhere: the elements before the first 16-byte boundary and those after the last one are
// peeled off; between them stand whole float4.
#pragma once
#include "cuda_helpers.cuh"

// x[0] to x[n - 1] as `head` elements, `units` float4 from x + head on, and `tail` elements, at most 3. The head ends
// at a multiple of kAlign bytes: of 16, or of 128, so that a warp's float4 lie in whole lines; then it is longer.
template <unsigned kAlign = sizeof(float4)>
struct Peeled {
  static constexpr unsigned kMostHead = kAlign / sizeof(float) - 1;
  unsigned head, tail;
  std::size_t units;

  __device__ Peeled(const float* x, std::size_t n) {
    const auto past = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(x) % kAlign);
    const unsigned wanted = (kAlign - past) % kAlign / sizeof(float);
    head = wanted < n ? wanted : static_cast<unsigned>(n);
    units = (n - head) / 4;
    tail = (n - head) % 4;
  }
  // The place of the one element that thread t takes of head and tail, or `none`. kMostHead + 3 threads take them all.
  __device__ std::size_t edge(std::size_t t, std::size_t none) const {
    if (t < head) return t;
    return t >= kMostHead && t - kMostHead < tail ? head + 4 * units + (t - kMostHead) : none;
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
