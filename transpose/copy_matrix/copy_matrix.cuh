// A copy of a matrix, along the rows (kernel copy_row) or down the columns (copy_col). Results are bit-equal.
#pragma once
#include "../matrix_map.cuh"

class CopyMatrix : public MatrixMap {
 public:
  // kernel: "copy_row" or "copy_col".
  CopyMatrix(const char* kernel, Launch launch, std::size_t tile_in_y)
      : MatrixMap(launch, tile_in_y), kernel_(kernel) {}
  const char* kernel() const override { return kernel_; }

  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    const float* in = host.at<const float>(0);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = in[i];
      scale[i - range.begin] = 0;
    }
  }

 private:
  const char* kernel_;
};
