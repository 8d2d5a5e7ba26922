// cuDNN: cudnnPoolingForward, set to propagate NaN and to leave padding out of the mean. Its sizes are ints, so many
// planes take several calls. It refuses padding as wide as the window.
// needs: gpu
// links: cudnn
#include "cudnn_helpers.cuh"
#include "pool2d.cuh"

static cudnnTensorDescriptor_t tensor() {
  cudnnTensorDescriptor_t t = nullptr;
  CUDNN_CHECK(cudnnCreateTensorDescriptor(&t));
  return t;
}

static void launch(const float* in, float* out, std::size_t planes, std::size_t rows, std::size_t cols, int k,
                   int stride, int padding, bool mean) {
  const PoolShape s = pool_shape(planes, rows, cols, k, stride, padding);
  if (planes == 0 || s.out_rows == 0 || s.out_cols == 0) return;
  static const cudnnTensorDescriptor_t from = tensor(), to = tensor();
  static const cudnnPoolingDescriptor_t pooling = [] {
    cudnnPoolingDescriptor_t p = nullptr;
    CUDNN_CHECK(cudnnCreatePoolingDescriptor(&p));
    return p;
  }();
  CUDNN_CHECK(cudnnSetPooling2dDescriptor(pooling,
                                          mean ? CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING : CUDNN_POOLING_MAX,
                                          CUDNN_PROPAGATE_NAN, k, k, padding, padding, stride, stride));
  const std::size_t outputs = static_cast<std::size_t>(s.out_rows) * s.out_cols;
  const std::size_t piece = std::max<std::size_t>(1, (std::size_t{1} << 30) / std::max(rows * cols, outputs));
  const float one = 1, zero = 0;
  for (std::size_t p = 0; p < planes; p += piece) {
    const int count = static_cast<int>(std::min(piece, planes - p));
    CUDNN_CHECK(cudnnSetTensor4dDescriptor(from, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, count, 1, s.rows, s.cols));
    CUDNN_CHECK(cudnnSetTensor4dDescriptor(to, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, count, 1, s.out_rows, s.out_cols));
    CUDNN_CHECK(cudnnPoolingForward(cudnn(), pooling, &one, from, in + p * rows * cols, &zero, to, out + p * outputs));
  }
}

// Refuses the sizes that cuDNN doesn't support, and leaves out windows with only -infinity: cuDNN returns -FLT_MAX.
class OfCudnn : public Pool2d {
 public:
  using Pool2d::Pool2d;
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[5] >= window(size)) throw ladder::UsageError("--padding: cuDNN takes less than the window's width");
    if (size[1] == 0 || size[2] == 0) throw ladder::UsageError("--rows, --cols: cuDNN takes no empty image");
    return Pool2d::buffers(size);
  }
  std::vector<ladder::Pattern> patterns() const override {
    std::vector<ladder::Pattern> some;
    for (const ladder::Pattern& pattern : Pool2d::patterns()) {
      if (std::string(pattern.name) != "special") some.push_back(pattern);
    }
    return some;
  }
  std::vector<ladder::Size> test_sizes() const override { return accepted(Pool2d::test_sizes()); }
};

LADDER_STEP(OfCudnn, launch);
