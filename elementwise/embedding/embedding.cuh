// Embedding lookup: gather rows of a table by id.
// out[t] = table[ids[t]], rows of dim floats. Ids may repeat. An id outside [0, vocab), such as -1 for padding, gives a
// row of zeros, and no table row is read. (PyTorch stops the program.)
// practice: easy, next embedding_grad
#pragma once
#include "embedding_ids.hpp"

class Embedding : public ladder::Problem {
 public:
  // table is vocab x dim and out is tokens x dim, both row-major without gaps. They do not overlap; 4-byte alignment is
  // enough. ids has one int64 per token, as in PyTorch. Each length may be 0; tokens and vocab are below 2^31.
  using Launch = void (*)(const float* table, const std::int64_t* ids, float* out, std::size_t tokens,
                          std::size_t vocab, std::size_t dim);

  explicit Embedding(Launch launch) : launch_(launch) {}

  const char* family() const override { return "elementwise"; }
  const char* kernel() const override { return "embedding"; }
  std::vector<ladder::Dim> dims() const override {
    constexpr std::size_t most = (std::size_t{1} << 31) - 1;
    return {{"tokens", 32768, 301, most}, {"vocab", 262144, 997, most}, {"dim", 1024, 132, std::size_t{1} << 30}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    require_rows(size[0], size[1], size[2]);
    return {ladder::input<float>("table", size[1] * size[2]), ladder::input<std::int64_t>("ids", size[0]),
            ladder::output<float>("out", size[0] * size[2])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const std::int64_t>(1), device.at<float>(2), size[0], size[1],
            size[2]);
  }
  // Nothing is computed, so results must be bit-equal.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t e = range.begin; e < range.end; ++e) {
      const std::int64_t id = host.at<const std::int64_t>(1)[e / size[2]];
      const bool inside = id >= 0 && static_cast<std::size_t>(id) < size[1];
      want[e - range.begin] =
          inside ? host.at<const float>(0)[static_cast<std::size_t>(id) * size[2] + e % size[2]] : 0.0;
      scale[e - range.begin] = 0;
    }
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, random},
            {"padding", true, padding},
            {"far outside", true, far_outside},
            {"special", true, special},
            {"one id", true, last_row}};
  }
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    const double value = pattern.value(seed, buffer, i, n);
    return buffer == 1 ? id_of(value, size[1]) : value;
  }
  // Empty; one row; around a float4, a warp, a warp's float4 and a block; more tokens than rows.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes = {{0, 5, 8},    {5, 7, 0},   {1, 1, 1},     {1, 1, 4},    {300, 3, 1},
                                       {1001, 9, 4}, {7, 100, 2}, {3, 70001, 8}, {2, 4, 4100}, {5, 0, 8}};
    for (const std::size_t dim : {3, 5, 12, 31, 32, 33, 64, 100, 127, 128, 129, 132, 255, 256, 257, 1000, 1024, 1027}) {
      sizes.push_back({19, 23, dim});
    }
    return sizes;
  }
  // More than 2^31 elements in the table and in out.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{(1 << 21) + 3, (1 << 21) + 5, 1028}, {(1 << 21) + 3, (1 << 21) + 5, 1025}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{32768, 262144, 1024}, {262144, 1048576, 128}, {8192, 131072, 4096}, {256, 131072, 4096}};
  }
  ladder::Size random_size(ladder::Draw& draw, double most) const override {
    return with_vocab(draw, most, draw_lengths(draw, most, {0, 1, 0}));
  }
  // Per token: one row read, one row written, and the id. A row that several tokens read counts once for each of them.
  double bytes(const ladder::Size& size) const override {
    return static_cast<double>(size[0]) * (8.0 * static_cast<double>(size[2]) + 8);
  }

 private:
  template <typename Share>
  static double common(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n, Share share) {
    return buffer == 1 ? share(ladder::hash(seed, buffer, i)) : ladder::patterns::random(seed, buffer, i, n);
  }
  static double random(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return common(seed, buffer, i, n, uniform_share);
  }
  // A third of the ids are -1 or vocab.
  static double padding(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return common(seed, buffer, i, n, [](std::uint64_t h) {
      return h % 6 == 0 ? -1 : h % 6 == 1 ? 1 : uniform_share(h);
    });
  }
  // A third of the ids are 2^32 above the last row's: truncated to 32 bits, they would be the last row's.
  static double far_outside(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return common(seed, buffer, i, n, [](std::uint64_t h) { return h % 3 == 0 ? 4294967296.0 : uniform_share(h); });
  }
  static double special(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return buffer == 1 ? random(seed, buffer, i, n) : ladder::patterns::special(seed, buffer, i, n);
  }
  static double last_row(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return common(seed, buffer, i, n, [](std::uint64_t) { return 0.99999999; });
  }

  Launch launch_;
};
