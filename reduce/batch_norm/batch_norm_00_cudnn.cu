// The library: cudnnBatchNormalizationForwardTraining, without running averages. It takes sizes as int.
// needs: gpu
// links: cudnn
#include "batch_norm.cuh"
#include "cudnn_helpers.cuh"

static cudnnTensorDescriptor_t tensor() {
  cudnnTensorDescriptor_t t = nullptr;
  CUDNN_CHECK(cudnnCreateTensorDescriptor(&t));
  return t;
}

static void launch(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd,
                   std::size_t n, std::size_t c, std::size_t hw, float epsilon) {
  if (c == 0) return;
  static const cudnnTensorDescriptor_t images = tensor(), channels = tensor();
  constexpr auto mode = CUDNN_BATCHNORM_SPATIAL;  // one mean per channel, not per pixel
  CUDNN_CHECK(cudnnSetTensor4dDescriptor(images, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, static_cast<int>(n),
                                         static_cast<int>(c), 1, static_cast<int>(hw)));
  CUDNN_CHECK(cudnnDeriveBNTensorDescriptor(channels, images, mode));
  const float one = 1, zero = 0;
  CUDNN_CHECK(cudnnBatchNormalizationForwardTraining(cudnn(), mode, &one, &zero, images, x, images, y, channels, gamma,
                                                     beta, 0.0, nullptr, nullptr, epsilon, mean, rstd));
}

// Leaves out the sizes that cuDNN refuses.
class OfCudnn : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[0] == 0 || size[2] == 0) throw ladder::UsageError("--n, --hw: cuDNN takes no empty channel");
    if (size[0] * size[1] * size[2] >> 31 > 0) throw ladder::UsageError("--n: cuDNN takes fewer than 2^31 elements");
    return BatchNorm::buffers(size);
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(BatchNorm::test_sizes()); }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
};

LADDER_STEP(OfCudnn, launch);
