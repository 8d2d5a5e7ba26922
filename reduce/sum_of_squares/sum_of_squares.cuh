// The sum of the squares of n integers.
// out[0] = x[0]^2 + ... + x[n-1]^2 for n 32-bit integers, as a 64-bit integer: exact, 0 for n = 0. A square has up to
// 62 bits; the sum must stay below 2^63. Each kernel also times itself, by its SM's clock counter.
// practice: medium, next quantize
#pragma once
#include "../reduction.cuh"

#include <vector>

class SumOfSquares : public Reduction {
 public:
  static constexpr unsigned kMostBlocks = 1024;

  // x: n integers. out: one. clocks[b]: the clocks from block b's start to its end in thread 0, the difference of two
  // clock64(). At most kMostBlocks blocks.
  using Launch = void (*)(const int* x, std::int64_t* out, std::int64_t* clocks, std::size_t n);

  explicit SumOfSquares(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "sum_of_squares"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 20, (1 << 17) + 13, std::size_t{1} << 31}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<int>("x", size[0]), ladder::output<std::int64_t>("out", 1)};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const int>(0), device.at<std::int64_t>(1), clocks(), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range&, double* want,
              double* scale) const override {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size[0]; ++i) {
      const std::int64_t x = host.at<const int>(0)[i];
      sum += x * x;
    }
    *want = static_cast<double>(sum);
    *scale = 0;
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // Up to n = 2^23, as in all tests, every sum is exact in double; beyond, "16 bits" is compared after rounding to
  // double.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"digits", true, digits},
            {"16 bits", true, sixteen_bits},
            {"tail", true, ladder::patterns::tail},
            {"least integer", true, least_integer}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    return {{0}, {1}, {2}, {3}, {31}, {33}, {255}, {257}, {1025}, {4099}, {70001}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }  // step 01 would take minutes
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 20}}; }
  double flops(const ladder::Size& size) const override { return 2.0 * static_cast<double>(size[0]); }

  // Returns the clocks of the slowest block with x in L2: the median of `runs` runs.
  std::vector<ladder::Figure> figures(const ladder::Arrays& device, const ladder::Size& size) const override {
    constexpr int runs = 21;
    std::vector<double> longest;
    for (int i = 0; i < runs; ++i) {
      CUDA_CHECK(cudaMemset(clocks(), 0, kMostBlocks * sizeof(std::int64_t)));
      run(device, size);
      std::vector<std::int64_t> of_block(kMostBlocks);
      CUDA_CHECK(cudaMemcpy(of_block.data(), clocks(), kMostBlocks * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
      longest.push_back(static_cast<double>(*std::max_element(of_block.begin(), of_block.end())));
    }
    std::sort(longest.begin(), longest.end());
    return {{"longest_block_clocks", longest[runs / 2]}};
  }

 private:
  static std::int64_t* clocks() {
    static const DeviceBuffer<std::int64_t> buffer(kMostBlocks);
    return buffer.get();
  }
  static double digits(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return static_cast<double>(ladder::hash(seed, buffer, i) % 10);
  }
  static double sixteen_bits(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return static_cast<double>(ladder::hash(seed, buffer, i) >> 48) - 32768;
  }
  static double least_integer(std::uint64_t, std::size_t, std::size_t i, std::size_t n) {
    return i == n / 2 ? -2147483648.0 : 0.0;
  }

  Launch launch_;
};

// Adds `count` partial sums from device memory on the host and copies the result to out. Waits for both copies.
inline void add_on_host(const std::int64_t* partial, std::size_t count, std::int64_t* out) {
  std::vector<std::int64_t> sums(count);
  CUDA_CHECK(cudaMemcpy(sums.data(), partial, count * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
  std::int64_t sum = 0;
  for (const std::int64_t s : sums) sum += s;
  CUDA_CHECK(cudaMemcpy(out, &sum, sizeof sum, cudaMemcpyHostToDevice));
}
