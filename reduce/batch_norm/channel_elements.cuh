// The elements of a channel of an NCHW array, numbered consecutively across all images.
#pragma once
#include "cuda_helpers.cuh"

// Calls body(number, place from the channel's first) for numbers [begin, end); a thread takes every kBlock-th. image:
// floats from one image to the next. Only the first number is divided by hw, at least 1; then image and pixel advance.
template <unsigned kBlock, typename Body>
__device__ inline void for_elements(std::size_t begin, std::size_t end, std::size_t hw, std::size_t image, Body body) {
  const std::size_t images = kBlock / hw, pixels = kBlock % hw;
  std::size_t e = begin + threadIdx.x, i = e / hw, p = e % hw;
  for (; e < end; e += kBlock) {
    body(e, i * image + p);
    const bool wraps = p + pixels >= hw;
    i += images + wraps;
    p += pixels - (wraps ? hw : 0);
  }
}
