// Softmax of each column of a matrix.
// y = softmax(x) for each column x of a row-major rows x cols matrix.
// practice: medium, next gemv
#pragma once
#include "../softmax_problem.cuh"

class ColSoftmax : public SoftmaxProblem {
 public:
  // x and y hold rows * cols floats without gaps, and do not overlap. They need not be 16-byte aligned, and cols need
  // not be a multiple of 4. rows and cols may be 0; cols is below 2^31.
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

  // Empty sizes, single rows and columns; columns around tile widths; rows around what blocks and clusters hold, and
  // more.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},    {0, 7},    {7, 0},    {1, 1},    {1, 1009},  {2, 257},
                                       {31, 2},   {1031, 1}, {3, 261},  {129, 12}, {517, 600}, {1024, 36},
                                       {2047, 9}, {4096, 9}, {4097, 9}, {8200, 9}, {20000, 8}, {70001, 1}};
    for (const std::size_t cols : {3, 4, 7, 8, 9, 12, 16, 17, 31, 32, 33, 36, 65}) sizes.push_back({37, cols});
    for (const std::size_t rows : {3, 5, 16, 17, 32, 64, 65, 128, 129, 256, 257, 511, 512, 1025}) {
      sizes.push_back({rows, 11});
    }
#ifndef CUDA_EMU  // clusters, and several tiles for each
    for (const std::size_t rows : {1025, 2048, 2049, 4096, 4097, 8192, 8193, 16384, 16385}) sizes.push_back({rows, 36});
    sizes.insert(sizes.end(), {{2000, 1100}, {4096, 2052}, {5003, 1100}, {2999, 1021}});
    for (const std::size_t rows : {1, 4, 16, 41}) sizes.push_back({rows, (1 << 17) + 5});
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
