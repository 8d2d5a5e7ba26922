// Base class of demonstrations on n integers in device memory, with one result each. Exact: bit-equal.
#pragma once
#include "elementwise.cuh"

#include <vector>

class Integers : public Elementwise {
 public:
  // x and y hold n integers each and do not overlap. n = 0 does nothing.
  using Launch = void (*)(const int* x, int* y, std::size_t n);

  explicit Integers(Launch launch) : launch_(launch) {}

  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<int>("x", size[0]), ladder::output<int>("y", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const int>(0), device.at<int>(1), size[0]);
  }
  std::vector<ladder::Pattern> patterns() const override { return {{"random", true, any_integer}}; }

 private:
  static double any_integer(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return static_cast<std::int32_t>(ladder::hash(seed, buffer, i) >> 32);
  }

  Launch launch_;
};
