// Doubles a matrix with blocks of a given shape.
// A demonstration: y = 2 x for a row-major matrix, by blocks of width x height threads. Exact, so bit-equal.
// practice: easy, next divergence
#pragma once
#include "../elementwise.cuh"

class BlockShape : public ladder::Problem {
 public:
  // Element (row, col) is at row * cols + col. x and y do not overlap. rows and cols are below 2^31, and may be 0.
  // width and height are at least 1, their product at most 1024.
  using Launch = void (*)(const float* x, float* y, std::size_t rows, std::size_t cols, std::size_t width,
                          std::size_t height);
  // Returns the occupancy with blocks of `threads` threads, 0 to 1.
  using Occupancy = double (*)(std::size_t threads);

  explicit BlockShape(Launch launch, Occupancy occupancy = nullptr) : launch_(launch), occupancy_(occupancy) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "block_shape"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"rows", 8192, 201, most}, {"cols", 8192, 237, most}, {"width", 32, 32, 1024}, {"height", 8, 8, 1024}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[2] * size[3] < 1 || size[2] * size[3] > 1024) {
      throw ladder::UsageError("--width, --height: a block has 1 to 1024 threads");
    }
    ladder::require_grid_y("rows", size[0], size[3]);
    return {ladder::input<float>("x", size[0] * size[1]), ladder::output<float>("y", size[0] * size[1])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<float>(1), size[0], size[1], size[2], size[3]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const float x = host.at<const float>(0)[i];
      want[i - range.begin] = x + x;
      scale[i - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }  // bit-equal

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, ladder::patterns::random}, {"special", false, ladder::patterns::special}};
  }
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 5, 32, 1},    {5, 0, 1, 32}, {1, 1, 1, 1},    {1, 1025, 7, 5},
                                       {1025, 1, 3, 11}, {9, 33, 1, 1}, {70, 70, 5, 13}, {40, 1100, 1024, 1}};
    for (const std::size_t width : {32, 16, 8, 4, 2, 1}) sizes.push_back({65, 63, width, 32 / width});
    return sizes;
  }
  std::vector<ladder::Size> huge_sizes() const override { return {{46349, 46349, 32, 8}}; }
  // Blocks of 32 to 1024 threads in one row, then 32 threads in every shape, then 256.
  std::vector<ladder::Size> bench_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t width : {32, 64, 128, 256, 512, 768, 1024}) sizes.push_back({8192, 8192, width, 1});
    for (const std::size_t width : {16, 8, 4, 2, 1}) sizes.push_back({8192, 8192, width, 32 / width});
    for (const std::size_t width : {64, 32, 16, 8}) sizes.push_back({8192, 8192, width, 256 / width});
    return sizes;
  }
  // Blocks of up to 32 x 32.
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t width = draw.length(32), height = draw.length(32);
    return draw_lengths(draw, bytes, {0, 0, width, height});
  }
  std::vector<ladder::Figure> figures(const ladder::Arrays&, const ladder::Size& size) const override {
    if (!occupancy_) return {};
    return {{"occupancy", occupancy_(size[2] * size[3])}};
  }

 private:
  Launch launch_;
  Occupancy occupancy_;
};
