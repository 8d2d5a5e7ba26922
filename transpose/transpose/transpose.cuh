// The transpose of a matrix, out of place.
// out[col * rows + row] = in[row * cols + col]. Results are bit-equal.
// practice: easy, next sum
#pragma once
#include "../matrix_map.cuh"

class Transpose : public MatrixMap {
 public:
  using MatrixMap::MatrixMap;  // `out` is cols x rows, row-major
  const char* kernel() const override { return "transpose"; }

  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    transpose_on_host(host.at<const float>(0), size[0], size[1], range, want);
    std::fill(scale, scale + (range.end - range.begin), 0.0);
  }
};
