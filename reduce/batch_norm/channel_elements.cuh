// Iterates over the elements of a channel of an NCHW array, numbered consecutively across all images.
#pragma once
#include "cuda_helpers.cuh"

// An element of a channel. advance() moves on by kBlock elements; only the constructor divides by hw.
template <unsigned kBlock>
class ChannelElement {
 public:
  std::size_t number, at;  // index in the channel, index in the array

  // hw: pixels per plane, 1 to 2^31 - 1.
  __device__ ChannelElement(std::size_t number, std::size_t channel, std::size_t channels, std::size_t hw)
      : number(number),
        at((number / hw * channels + channel) * hw + number % hw),
        pixel_(static_cast<unsigned>(number % hw)),
        hw_(static_cast<unsigned>(hw)),
        pixels_(kBlock % hw_),
        step_(kBlock / hw_ * channels * hw + pixels_),
        gap_((channels - 1) * hw) {}

  __device__ void advance() {
    number += kBlock;
    at += step_;
    pixel_ += pixels_;
    if (pixel_ >= hw_) pixel_ -= hw_, at += gap_;
  }

 private:
  unsigned pixel_, hw_, pixels_;
  std::size_t step_, gap_;  // array distance of kBlock elements in a plane; from a plane's end to the channel's next
};
