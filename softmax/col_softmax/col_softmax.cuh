// Softmax of each column of a matrix.
// y = softmax(x) for each column x of a row-major rows x cols matrix.
// practice: medium, next gemv
#pragma once
#include "../softmax_problem.cuh"

class ColSoftmax : public SoftmaxProblem {
 public:
  // x and y hold rows * cols floats, a row directly behind the other, and do not overlap. No pointer need be 16-byte
  // aligned, nor need cols be a multiple of 4. Either may be 0; cols is below 2^31.
  using Launch = void (*)(const float* x, float* y, std::size_t rows, std::size_t cols);

  explicit ColSoftmax(Launch launch, Roundings roundings = any_roundings)
      : SoftmaxProblem(roundings), launch_(launch) {}

  const char* kernel() const override { return "col_softmax"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 4096, 517, std::size_t{1} << 36}, {"cols", 4096, 301, (std::size_t{1} << 31) - 1}};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }

  // Several tiles for each cluster, whole and not; and with pointers aligned and not, each kernel of step 06.
  static std::vector<ladder::Size> cluster_sizes() {
    return {{100, 1100},  {300, 1100},  {700, 1100},  {1000, 1100}, {2500, 1100}, {4000, 1100},
            {4096, 1100}, {5003, 1100}, {8200, 1100}, {1500, 300},  {2100, 300},  {1500, 2052},
            {129, 16300}, {300, 8200},  {600, 4100},  {2999, 1021}};
  }

  // Empty, single rows and columns, columns around the widths of tiles, more rows than a tile keeps on the chip.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0}, {0, 7}, {7, 0}, {1, 1}, {1, 1009}, {2, 257}, {1031, 1}, {31, 2}};
    for (const std::size_t cols : {3, 4, 7, 8, 9, 12, 16, 17, 31, 32, 33, 36, 65}) sizes.push_back({37, cols});
    for (const std::size_t rows : {3, 31, 32, 33, 64, 127, 128, 129, 256, 257, 511, 512, 1023, 1025}) {
      sizes.push_back({rows, 11});
    }
    for (const std::size_t rows : {2047, 4096, 4097, 8200}) sizes.push_back({rows, 9});
    sizes.push_back({3, 261});
    sizes.push_back({517, 600});
    sizes.push_back({20000, 8});
    sizes.push_back({70001, 1});
#ifndef CUDA_EMU  // for steps with clusters, which need a GPU
    for (const ladder::Size& size : cluster_sizes()) sizes.push_back(size);
    for (const std::size_t rows : {1, 4, 5, 16}) sizes.push_back({rows, 4099});
    sizes.push_back({41, (1 << 17) + 5});
#endif
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{1028, (1 << 21) + 4}, {(1 << 21) + 4, 1028}}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{4096, 4096}, {16384, 4096}, {65536, 128}}; }

 protected:
  Vectors vectors(const ladder::Size& size) const override { return {size[1], size[0], 1, size[1]}; }

 private:
  Launch launch_;
};
