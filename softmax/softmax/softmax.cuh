// Softmax of one vector.
// y = softmax(x), where x has n elements.
// practice: medium, next col_softmax
#pragma once
#include "../softmax_problem.cuh"

class Softmax : public SoftmaxProblem {
 public:
  // x and y hold n floats and do not overlap. They need not be 16-byte aligned.
  using Launch = void (*)(const float* x, float* y, std::size_t n);

  explicit Softmax(Launch launch, Roundings roundings = any_roundings) : SoftmaxProblem(roundings), launch_(launch) {}

  const char* kernel() const override { return "softmax"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 24, (1 << 17) + 13, std::size_t{1} << 36}};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0]);
  }
  // The longest vector is three times what the 4 SMs of the CPU backend can hold.
  std::vector<ladder::Size> test_sizes() const override { return ladder::awkward_lengths(); }
  std::vector<ladder::Size> huge_sizes() const override { return {{(std::size_t{1} << 31) + 3}}; }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{std::size_t{1} << 20}, {std::size_t{1} << 24}, {std::size_t{1} << 28}};
  }

 protected:
  Vectors vectors(const ladder::Size& size) const override { return {1, size[0], size[0], 1}; }

 private:
  Launch launch_;
};
