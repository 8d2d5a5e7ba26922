// Softmax of each row of a matrix.
// y = softmax(x) for each row x of a row-major rows x cols matrix.
// practice: medium, next dot
#pragma once
#include "../softmax_problem.cuh"

class RowSoftmax : public SoftmaxProblem {
 public:
  // x and y hold rows * cols floats, a row directly behind the other, and do not overlap. No pointer need be 16-byte
  // aligned, nor need cols be a multiple of 4. Either may be 0; rows is below 2^31.
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

  // Empty, single rows and columns, lengths around the powers of two and the sizes at which steps switch kernels, one
  // that no block's shared memory holds, one that no cluster's holds. Of short rows as many as fill a block and begin
  // another: 128 for a thread per row, 64 and 32 for groups of 4 and 8 lanes. Where there is a block for each row they
  // are what takes time.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 0},  {0, 7},   {7, 0},  {1, 1},  {70, 1},
                                       {11, 2}, {133, 3}, {67, 4}, {1, 31}, {2, 1031}};
    for (const std::size_t cols : {5, 16, 17}) sizes.push_back({35, cols});
    for (const std::size_t cols : {7, 8, 9, 15, 20}) sizes.push_back({11, cols});
    for (const std::size_t cols : {31, 32, 33, 36, 63, 64, 65, 100, 127, 128, 129, 132}) sizes.push_back({9, cols});
    for (const std::size_t cols : {255, 256, 257, 260, 511, 512, 513, 1023, 1024, 1025, 1028})
      sizes.push_back({3, cols});
    for (const std::size_t cols : {2047, 2048, 2052, 4096, 4097, 8196, 12345, 16384}) sizes.push_back({2, cols});
    for (const std::size_t cols : {32769, 65540}) sizes.push_back({2, cols});
    sizes.push_back({19, 516});
    // around the shapes of step 11; short rows for more than one block; rows that several blocks share
    for (const std::size_t cols : {35, 67, 131, 259, 515, 1027, 2051, 4099, 4100, 8195, 16387, 16388})
      sizes.push_back({3, cols});
    for (const std::size_t cols : {20483, 24578, 28675, 32771, 32772}) sizes.push_back({2, cols});
    sizes.push_back({131, 13});
    sizes.push_back({4099, 1});
    sizes.push_back({2051, 2});
    sizes.push_back({7, 20001});
#ifndef CUDA_EMU
    // Many rows of a block each take long on the CPU backend; it has no clusters. No cluster keeps the last size.
    for (const std::size_t cols : {1, 3, 5, 8}) sizes.push_back({1029, cols});
    for (const std::size_t cols : {32768, 53000, 53003, 86001, 106002, 131072, 131076, 172003, 344000, 344001})
      sizes.push_back({2, cols});
    sizes.push_back({2, 1400004});
#endif
    return sizes;
  }
  // More than 2^31 elements in short rows and in long ones; more than 2^27 rows, 2^32 threads of which 32 share a row.
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
