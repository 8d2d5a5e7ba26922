// cuDNN: cudnnConvolutionForward, an implicit GEMM on tensor cores. Its sizes are ints.
// needs: gpu
// links: cudnn
#include "conv2d_channels.cuh"
#include "cudnn_helpers.cuh"

static cudnnTensorDescriptor_t tensor() {
  cudnnTensorDescriptor_t t = nullptr;
  CUDNN_CHECK(cudnnCreateTensorDescriptor(&t));
  return t;
}

static void launch(const __nv_bfloat16* in, const __nv_bfloat16* filters, __nv_bfloat16* out, std::size_t N,
                   std::size_t H, std::size_t W, std::size_t C, std::size_t K) {
  static const cudnnTensorDescriptor_t from = tensor(), to = tensor();
  static const cudnnFilterDescriptor_t weights = [] {
    cudnnFilterDescriptor_t f = nullptr;
    CUDNN_CHECK(cudnnCreateFilterDescriptor(&f));
    return f;
  }();
  static const cudnnConvolutionDescriptor_t convolution = [] {
    cudnnConvolutionDescriptor_t c = nullptr;
    CUDNN_CHECK(cudnnCreateConvolutionDescriptor(&c));
    // padding, stride and dilation of 1 on both axes; sums in FP32
    CUDNN_CHECK(cudnnSetConvolution2dDescriptor(c, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    CUDNN_CHECK(cudnnSetConvolutionMathType(c, CUDNN_TENSOR_OP_MATH));
    return c;
  }();
  const int n = static_cast<int>(N), h = static_cast<int>(H), w = static_cast<int>(W), c = static_cast<int>(C),
            k = static_cast<int>(K);
  CUDNN_CHECK(cudnnSetTensor4dDescriptor(from, CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, n, c, h, w));
  CUDNN_CHECK(cudnnSetTensor4dDescriptor(to, CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, n, k, h, w));
  CUDNN_CHECK(cudnnSetFilter4dDescriptor(weights, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, k, c, 3, 3));
  constexpr auto algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  std::size_t bytes = 0;
  CUDNN_CHECK(cudnnGetConvolutionForwardWorkspaceSize(cudnn(), from, weights, convolution, to, algorithm, &bytes));
  const float one = 1, zero = 0;
  CUDNN_CHECK(cudnnConvolutionForward(cudnn(), &one, from, in, weights, filters, convolution, algorithm,
                                      scratch<unsigned char>(bytes), bytes, &zero, to, out));
}

// Refuses the sizes that cuDNN doesn't support.
class OfCudnn : public Conv2dChannels {
 public:
  using Conv2dChannels::Conv2dChannels;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::vector<ladder::Buffer> all = Conv2dChannels::buffers(size);
    for (const ladder::Buffer& buffer : all) {
      if (buffer.count == 0) throw ladder::UsageError("--n, --h, --w, --c, --k: cuDNN takes no empty array");
      if (buffer.count >> 31 > 0) throw ladder::UsageError("--n: cuDNN takes fewer than 2^31 elements");
    }
    return all;
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(Conv2dChannels::test_sizes()); }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
};

LADDER_STEP(OfCudnn, launch);
