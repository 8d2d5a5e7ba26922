// Many linear layers with GELU, BF16: C = gelu(A W^T + bias).
// Each of b layers has its own A, W, bias and C, and all have the same size: one layer per head or group of channels,
// adapters of several users, experts with a fixed number of tokens each.
// practice: hard, next linear_residual
#pragma once
#include "gelu_layer.cuh"

class LinearBatched : public GeluLayer {
 public:
  // A is b x m x k, W b x n x k, bias b x n and C b x m x n, row-major without gaps. All are BF16. C is rounded once,
  // to nearest, ties to even. Pointers need only the alignment of an element. Any size may be 0; with k = 0 the sums
  // are 0. b m and b n are below 2^31. Nothing overlaps.
  using Launch = void (*)(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                          std::size_t b, std::size_t m, std::size_t n, std::size_t k);

  explicit LinearBatched(Launch launch) : GeluLayer(nullptr), launch_(launch) {}

  const char* kernel() const override { return "linear_batched"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"b", 16, 3, kMost}, {"m", 512, 67, kMost}, {"n", 1024, 137, kMost}, {"k", 1024, 67, kMost}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[0] * size[1] > kMost || size[0] * size[2] > kMost) {
      throw ladder::UsageError("--b, --m, --n: the layers have 2^31 or more rows, or as many outputs");
    }
    return GeluLayer::buffers(size);
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<__nv_bfloat16>(3), size[0], size[1], size[2], size[3]);
  }

  // Empty; one layer, element, product; tiles with and without remainders in each of several layers; unaligned rows;
  // more layers than SMs.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 5, 3, 4},     {3, 0, 5, 3},       {3, 5, 0, 3},      {3, 5, 7, 0},
                                       {1, 1, 1, 1},     {7, 1, 1, 1},       {3, 2, 3, 4},      {5, 16, 16, 16},
                                       {2, 17, 15, 33},  {3, 63, 65, 15},    {2, 67, 5, 8},     {3, 64, 64, 32},
                                       {2, 127, 129, 8}, {3, 128, 128, 64},  {2, 129, 136, 72}, {2, 20, 70, 521},
                                       {3, 3, 300, 200}, {1, 130, 264, 136}, {40, 1, 8, 16}};
#ifndef CUDA_EMU  // sizes that take long on the CPU backend: several large tiles; more layers than gridDim.z counts
    for (const ladder::Size& size : {ladder::Size{150, 100, 72, 88},
                                     {2, 515, 520, 300},
                                     {5, 192, 512, 256},
                                     {2, 72, 201, 2688},
                                     {65537, 3, 8, 16}}) {
      sizes.push_back(size);
    }
#endif
    return sizes;
  }
  // A, W and C in turn have more than 2^31 elements.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{3, (1 << 21) + 5, 3, 345}, {3, 3, (1 << 21) + 5, 345}, {3, (1 << 20) + 5, 688, 2}};
  }
  // Few tiles per layer; a tile of rows per layer, where weights are most bytes; a wave of tiles per layer.
  std::vector<ladder::Size> bench_sizes() const override {
    return {{16, 512, 1024, 1024}, {64, 128, 1024, 1024}, {8, 2048, 2048, 2048}};
  }

 protected:
  Shape shape(const ladder::Size& size) const override { return {size[1], size[2], size[3], size[0]}; }

 private:
  static constexpr std::size_t kMost = (std::size_t{1} << 31) - 1;

  Launch launch_;
};
