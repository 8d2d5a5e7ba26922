// Transposed matrix-vector: y = alpha A^T x + beta y.
// A is a row-major m x k matrix: x has m elements, y has k.
// practice: medium, next gemv_w8
#pragma once
#include "../matrix_vector.cuh"

#include <algorithm>

class GemvT : public MatrixVector {
 public:
  using MatrixVector::MatrixVector;
  const char* kernel() const override { return "gemv_t"; }

  // {m, k, lda}, {alpha, beta}: empty, single rows and columns, tile borders, unaligned rows, gaps between rows
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {
        {{0, 0, 0}, {1, 0}},      {{7, 0, 0}, {1, 1}},       {{0, 5, 0}, {1, 0}},       {{0, 5, 8}, {2, -0.5f}},
        {{1, 1, 0}, {1, 0}},      {{33, 40, 0}, {0, 0}},     {{33, 40, 0}, {0, 0.5f}},  {{1, 1025, 0}, {-1, 2}},
        {{2, 255, 0}, {1, 0}},    {{1009, 1, 0}, {1.5f, 1}}, {{4099, 3, 4}, {1, 0}},    {{31, 32, 0}, {1, 0}},
        {{32, 33, 36}, {1, -1}},  {{33, 31, 0}, {1, 0}},     {{63, 128, 128}, {1, 1}},  {{64, 129, 0}, {1, 0}},
        {{65, 127, 128}, {2, 0}}, {{127, 65, 67}, {1, 0}},   {{128, 64, 0}, {3, 0.5f}}, {{129, 63, 64}, {1, 0}},
        {{257, 16, 0}, {1, 0}},   {{255, 17, 20}, {1, 0}},   {{513, 8, 0}, {0.25f, 4}}, {{1025, 5, 0}, {1, 0}},
        {{16, 256, 0}, {1, 0}},   {{3, 2051, 2052}, {1, 0}}, {{2049, 4, 0}, {1, 1}},    {{20011, 7, 8}, {1, 0}},
        {{5, 20011, 0}, {1, 0}}};
    sizes.push_back({{5, 5003, 5004}, {1, 0}});
    for (const std::size_t k : {64, 1040}) sizes.push_back({{131, k, k + 1}, {1, 0}});  // unaligned rows
    // reach the tiles of step 05 that the sizes above miss on the CPU backend's 4 SMs (test_gemv.cpp checks this)
    sizes.push_back({{65, 1029, 0}, {1, 0}});
    sizes.push_back({{301, 1031, 0}, {1, 1}});
    sizes.push_back({{131, 1040, 1044}, {1, 0}});
    sizes.push_back({{129, 252, 256}, {2, 0}});
    sizes.push_back({{41, 201, 0}, {1, 0}});
    sizes.push_back({{301, 133, 0}, {1, 0}});
    sizes.push_back({{64, 100, 0}, {1, 0}});
    sizes.push_back({{5, 2052, 0}, {1, 0}});
    sizes.push_back({{67, 508, 512}, {1, 0}});
    sizes.push_back({{66, 600, 0}, {1, 0}});
    sizes.push_back({{601, 517, 520}, {1, 0}});  // more than 1 MB
    return sizes;
  }
  // more than 2^31 elements: the first has more rows than 65535 * 32, the last more columns than 2^32
  std::vector<ladder::Size> huge_sizes() const override {
    return {{{(1 << 21) + 5, 1025, 1028}, {1, 0}},
            {{65, (1 << 25) + 1, (1 << 25) + 4}, {1, 1}},
            {{1, (std::size_t{1} << 32) + 5, 0}, {1, 0}}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{{4096, 4096, 0}, {1, 0}}, {{8192, 8192, 0}, {1, 0}}, {{16384, 16384, 0}, {1, 0}}};
  }

 protected:
  std::size_t x_count(const ladder::Size& size) const override { return size[0]; }
  std::size_t y_count(const ladder::Size& size) const override { return size[1]; }
  void products(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* sum,
                double* magnitude) const override {
    const std::size_t columns = range.end - range.begin;
    std::fill(sum, sum + columns, 0.0);
    std::fill(magnitude, magnitude + columns, 0.0);
    for (std::size_t i = 0; i < size[0]; ++i) {
      const float* row = host.at<const float>(0) + i * lda(size) + range.begin;
      const double x = host.at<const float>(1)[i];
      for (std::size_t j = 0; j < columns; ++j) {
        const double product = row[j] * x;
        sum[j] += product;
        magnitude[j] += std::fabs(product);
      }
    }
  }
};
