// Softmax of each row of a matrix.
// y = softmax(x) for each row x of a row-major rows x cols matrix.
// practice: medium, next dot
#pragma once
#include "../softmax_problem.cuh"

class RowSoftmax : public SoftmaxProblem {
 public:
  // x and y hold rows * cols floats without gaps, and do not overlap. They need not be 16-byte aligned, and cols need
  // not be a multiple of 4. rows and cols may be 0; rows is below 2^31.
  using Launch = void (*)(const float* x, float* y, std::size_t rows, std::size_t cols);

  explicit RowSoftmax(Launch launch, Roundings roundings = any_roundings)
      : SoftmaxProblem(roundings), launch_(launch) {}

  const char* kernel() const override { return "row_softmax"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"rows", 32768, 301, (std::size_t{1} << 31) - 1}, {"cols", 1024, 517, std::size_t{1} << 36}};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }

  // Empty sizes, single rows and columns; lengths around powers of two; rows that just fit lanes and blocks as float4
  // plus three edge elements; rows longer than the shared memory of a block, and of a cluster; many short rows.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},  {0, 7},  {7, 0},  {1, 1},   {70, 1},  {11, 2},   {133, 3},  {67, 4},
                                       {35, 5}, {11, 8}, {35, 9}, {35, 16}, {35, 17}, {300, 13}, {19, 516}, {2, 1031}};
    for (const std::size_t cols : {31, 32, 33, 35, 64, 67, 100, 128, 131, 132}) sizes.push_back({9, cols});
    for (const std::size_t cols : {255, 256, 259, 512, 515, 1023, 1024, 1027, 1028}) sizes.push_back({3, cols});
    for (const std::size_t cols : {2048, 2051, 4097, 8196, 12345, 16384, 32771, 65540}) sizes.push_back({2, cols});
#ifndef CUDA_EMU
    // Many rows, one block each, are slow on the CPU backend, which has no clusters either.
    for (const std::size_t cols : {1, 2, 3, 8, 11}) sizes.push_back({4099, cols});
    for (const std::size_t cols : {43011, 50257, 86019, 131072, 131076, 172035, 344067, 344068, 1400004})
      sizes.push_back({2, cols});
#endif
    return sizes;
  }
  // More than 2^31 elements in short rows and in long ones; then 2^27 rows, so 2^32 threads if 32 share a row.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 5, 1028}, {1025, (1 << 21) + 4}, {(1 << 27) + 5, 4}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{65536, 128}, {32768, 1024}, {16384, 4096}, {4096, 32768}, {1024, 131072}, {64, 1 << 20}};
  }

 protected:
  Vectors vectors(const ladder::Size& size) const override { return {size[0], size[1], size[1], 1}; }

 private:
  Launch launch_;
};
