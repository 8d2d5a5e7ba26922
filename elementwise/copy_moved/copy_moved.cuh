// Base class of copy_offset and copy_stride: y[i] = x[at(i)] for n floats. Bit-equal.
#pragma once
#include "../elementwise.cuh"

class CopyMoved : public Elementwise {
 public:
  // y holds n floats and x at(n - 1) + 1; they do not overlap. n = 0 does nothing. `moved`: the offset or the stride.
  using Launch = void (*)(const float* x, float* y, std::size_t n, std::size_t moved);

  explicit CopyMoved(Launch launch) : launch_(launch) {}

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t n = size[0];
    if (static_cast<double>(n) * static_cast<double>(size[1] + 1) > 1e15) {
      throw ladder::UsageError("--" + std::string(dims()[1].name) + ": too large for n = " + std::to_string(n));
    }
    return {ladder::input<float>("x", n == 0 ? 0 : at(n - 1, size[1]) + 1), ladder::output<float>("y", n)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const float* x = host.at<const float>(0);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = x[at(i, size[1])];
      scale[i - range.begin] = 0;
    }
  }
  // Offsets and strides up to 33.
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    return draw_lengths(draw, bytes, {0, draw.length(33)});
  }
  // Useful bytes: skipped elements are not counted.
  double bytes(const ladder::Size& size) const override { return 8.0 * static_cast<double>(size[0]); }

 protected:
  virtual std::size_t at(std::size_t i, std::size_t moved) const = 0;

 private:
  Launch launch_;
};
