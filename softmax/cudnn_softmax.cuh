// cuDNN's softmax over the middle dimension of a count x length x inner array, for step 00 of three kernels.
#pragma once
#include "cudnn_helpers.cuh"
#include "ladder.cuh"

#include <limits>
#include <stdexcept>
#include <string>

// x and y hold count * length * inner floats. Throws std::runtime_error if a size exceeds int, cuDNN's type for sizes.
// CUDNN_SOFTMAX_ACCURATE subtracts the maximum. For inner = 1 both modes compute the same, at different speeds.
inline void cudnn_softmax(std::size_t count, std::size_t length, std::size_t inner, const float* x, float* y,
                          cudnnSoftmaxMode_t mode) {
  for (const std::size_t size : {count, length, inner}) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw std::runtime_error("cuDNN's sizes are ints: " + std::to_string(size) + " is too large");
    }
  }
  static const cudnnTensorDescriptor_t tensor = [] {
    cudnnTensorDescriptor_t t = nullptr;
    CUDNN_CHECK(cudnnCreateTensorDescriptor(&t));
    return t;
  }();
  const float one = 1, zero = 0;
  CUDNN_CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, static_cast<int>(count),
                                         static_cast<int>(length), 1, static_cast<int>(inner)));
  CUDNN_CHECK(cudnnSoftmaxForward(cudnn(), CUDNN_SOFTMAX_ACCURATE, mode, &one, tensor, x, &zero, tensor, y));
}

// A bound for any order of additions in cuDNN.
inline std::size_t cudnn_roundings(std::size_t length) { return 10 + length; }

// A softmax problem without the data on which cuDNN 9.14 differs: one mode returns 0 for a vector of -inf, and rows of
// -FLT_MAX give results that are too small, as if padded with -FLT_MAX to a multiple of 4.
template <typename Problem>
class ForCudnn : public Problem {
 public:
  using Problem::Problem;
  std::vector<ladder::Pattern> patterns() const override { return Problem::ordinary_patterns(); }
};

// A problem without its huge sizes, which exceed cuDNN's int sizes.
template <typename Problem>
class OfInts : public Problem {
 public:
  using Problem::Problem;
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
};
