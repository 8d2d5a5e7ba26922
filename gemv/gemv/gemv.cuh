// Matrix times vector: y = alpha A x + beta y.
// A is a row-major m x k matrix: x has k elements, y has m.
// practice: medium, next gemv_t
#pragma once
#include "../matrix_vector.cuh"

#include <array>

class Gemv : public MatrixVector {
 public:
  using MatrixVector::MatrixVector;
  const char* kernel() const override { return "gemv"; }

  // {m, k, lda}, {alpha, beta}: empty matrices, single rows and columns, row lengths near powers of two and near block
  // and tile sizes, unaligned rows, gaps between rows, few long rows, many short rows
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {
        {{0, 0, 0}, {1, 0}},        {{0, 7, 0}, {1, 1}},     {{5, 0, 0}, {1, 0}},         {{5, 0, 8}, {2, -0.5f}},
        {{1, 1, 0}, {1, 0}},        {{33, 40, 0}, {0, 0}},   {{33, 40, 0}, {0, 0.5f}},    {{1, 2, 0}, {2, 1}},
        {{1, 31, 0}, {1, 0}},       {{1, 1025, 0}, {-1, 2}}, {{2, 4099, 0}, {1, 0}},      {{521, 1, 0}, {1.5f, 1}},
        {{127, 2, 0}, {1, 0}},      {{65, 64, 64}, {1, 1}},  {{64, 63, 64}, {1, 0}},      {{31, 65, 68}, {1, -1}},
        {{37, 61, 64}, {1, 0}},     {{37, 64, 67}, {1, 0}},  {{16, 127, 132}, {3, 0.5f}}, {{33, 128, 0}, {1, 0}},
        {{17, 129, 0}, {0.25f, 4}}, {{9, 255, 256}, {1, 0}}, {{8, 512, 0}, {1, 0}},       {{7, 1023, 1024}, {1, 0}},
        {{5, 2048, 2052}, {1, 1}},  {{3, 8191, 0}, {1, 0}},  {{3, 16387, 16388}, {2, 1}}, {{1, 70001, 0}, {1, 0}},
        {{1031, 3, 4}, {1, 0}}};
    for (const std::size_t k : {3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 18, 20, 31, 32, 33})
      sizes.push_back({{35, k, 0}, {1, 0}});
    for (const std::size_t k : {15, 31}) sizes.push_back({{70, k, k + 1}, {1, 1}});
    sizes.push_back({{35, 6, 8}, {1, 0}});
    sizes.push_back({{601, 517, 520}, {1, 0}});  // more than 1 MB
    // reach the kernels of step 07 that the sizes above miss on the CPU backend's 4 SMs (test_gemv.cpp checks this)
    for (const auto& [m, k, lda] : {std::array<std::size_t, 3>{513, 1029, 1032},
                                    {514, 1027, 0},
                                    {513, 1024, 0},
                                    {512, 1024, 1025},
                                    {2, 33001, 0},
                                    {5, 32771, 0},
                                    {3, 8190, 8192},
                                    {19, 301, 0},
                                    {11, 601, 0}}) {
      sizes.push_back({{m, k, lda}, {1, 1}});
    }
    return sizes;
  }
  // more than 65535 * 32 rows, and rows of more than 2^25 elements; both matrices have more than 2^31 elements
  std::vector<ladder::Size> huge_sizes() const override {
    return {{{(1 << 21) + 5, 1025, 1028}, {1, 0}}, {{65, (1 << 25) + 1, (1 << 25) + 4}, {1, 1}}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{{4096, 4096, 0}, {1, 0}},  {{8192, 8192, 0}, {1, 0}},  {{16384, 16384, 0}, {1, 0}},
            {{65536, 32, 0}, {1, 0}},   {{1 << 20, 32, 0}, {1, 0}}, {{65536, 1024, 0}, {1, 0}},
            {{1024, 65536, 0}, {1, 0}}, {{128, 1 << 20, 0}, {1, 0}}};
  }

 protected:
  std::size_t x_count(const ladder::Size& size) const override { return size[1]; }
  std::size_t y_count(const ladder::Size& size) const override { return size[0]; }
  void products(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* sum,
                double* magnitude) const override {
    const float* x = host.at<const float>(1);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const float* row = host.at<const float>(0) + i * lda(size);
      double s = 0, all = 0;
      for (std::size_t j = 0; j < size[1]; ++j) {
        const double product = static_cast<double>(row[j]) * x[j];
        s += product;
        all += std::fabs(product);
      }
      sum[i - range.begin] = s;
      magnitude[i - range.begin] = all;
    }
  }
};
