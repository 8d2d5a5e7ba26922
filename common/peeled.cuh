// Splits an unaligned row into a head before the first 16-byte boundary, 16-byte units (a float4, or as many elements
// of another type), and a tail.
#pragma once
#include "cuda_helpers.cuh"

// x[0] to x[n - 1] as `head` elements, then `units` of 16 bytes, then `tail` elements, fewer than one unit. The head
// ends at a multiple of kAlign bytes: 16, or 128 so that a warp's units fill whole cache lines.
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
  // Returns the index of the head or tail element that thread t handles, or `none`. kMostHead + kUnit - 1 threads cover
  // head and tail.
  __device__ std::size_t edge(std::size_t t, std::size_t none) const {
    if (t < head) return t;
    return t >= kMostHead && t - kMostHead < tail ? head + kUnit * units + (t - kMostHead) : none;
  }
};

// Returns true if x and y have the same distance from a 16-byte boundary, so that their aligned float4 correspond.
inline __host__ __device__ bool alike(const float* x, const float* y) {
  return reinterpret_cast<std::uintptr_t>(x) % sizeof(float4) == reinterpret_cast<std::uintptr_t>(y) % sizeof(float4);
}

// Stores v to y[0..3], evict-first if y is 16-byte aligned, else as four floats.
__device__ inline void store_unit(float* y, float4 v, bool aligned) {
  if (aligned) {
    __stcs(reinterpret_cast<float4*>(y), v);
  } else {
    y[0] = v.x, y[1] = v.y, y[2] = v.z, y[3] = v.w;
  }
}
