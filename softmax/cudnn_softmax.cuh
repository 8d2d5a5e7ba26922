// cuDNN's softmax over the middle index of an array of count x length x inner floats, for the three steps 00.
#pragma once
#include "cudnn_helpers.cuh"
#include "ladder.cuh"

#include <limits>
#include <stdexcept>
#include <string>

// x and y hold count * length * inner floats. Throws std::runtime_error where a size is no int, which cuDNN's are.
// CUDNN_SOFTMAX_ACCURATE subtracts the maximum. Where inner = 1 both modes compute the same, at different speeds.
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

// A sum that cuDNN may compute in any order.
inline std::size_t cudnn_roundings(std::size_t length) { return 10 + length; }

// A softmax problem without the data on which cuDNN 9.14 differs: a vector of -inf gives 0 in one mode; rows of
// -FLT_MAX give too small results, as if padded with it to a multiple of 4.
template <typename Problem>
class ForCudnn : public Problem {
 public:
  using Problem::Problem;
  std::vector<ladder::Pattern> patterns() const override { return Problem::ordinary_patterns(); }
};

// A problem without its huge sizes, which cuDNN's int sizes cannot hold.
template <typename Problem>
class OfInts : public Problem {
 public:
  using Problem::Problem;
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
};
