// Non-maximum suppression of overlapping boxes.
// Boxes x1, y1, x2, y2 are sorted by score, best first, as CUDA libraries expect them. For equal scores the caller's
// stable sort puts the lower index first, so only the order of the boxes matters. Box i is kept unless a kept box j < i
// overlaps it too much; a box that isn't kept suppresses nothing. keep[i] is 1 or 0.
//
// j suppresses i if the overlap of the two is above 0 and above threshold times their union. This is IoU > threshold
// without a division, so two boxes without area, 0 / 0, are both kept. A box with x2 <= x1 or y2 <= y1 overlaps no
// other, nor does one with a NaN: every comparison with it is false.
//
// Exact: rounding decides on which side of the threshold a close IoU falls, and one flag changes all later flags. So
// the operations are part of the problem. Each is rounded to FP32 separately (__fsub_rn, __fmul_rn, __fadd_rn; the
// compiler would turn a * b - c into one FMA, with one rounding less):
//   area = (x2 - x1) * (y2 - y1)
//   w = max(0, min(x2, x2') - max(x1, x1')), h likewise
//   overlap = w * h
//   overlap > 0 and overlap > threshold * ((area + area') - overlap)
// practice: medium, next top_k
#pragma once
#include "ladder.cuh"

class Nms : public ladder::Problem {
 public:
  // boxes: 4 n floats, 4-byte aligned; must not change. keep: n flags. The arrays do not overlap.
  using Launch = void (*)(const float* boxes, std::int8_t* keep, std::size_t n, float threshold);

  // scratch: bytes of scratch memory per pair of boxes.
  explicit Nms(Launch launch, double scratch = 0) : launch_(launch), scratch_(scratch) {}

  const char* family() const override { return "reduce"; }
  const char* kernel() const override { return "nms"; }
  std::vector<ladder::Dim> dims() const override { return {{"n", 4096, 517, kMost}}; }
  std::vector<ladder::Scalar> scalars() const override { return {{"threshold", 0.5f}}; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("boxes", 4 * size[0]), ladder::output<std::int8_t>("keep", size[0])};
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<std::int8_t>(1), size[0], size.scalars[0]);
  }

  // Returns the flags of all boxes; each depends on the flags before it.
  std::vector<double> digest(const ladder::Arrays& host, const ladder::Size& size) const override {
    const float* boxes = host.at<const float>(0);
    std::vector<double> keep(size[0], 1.0);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < size[0]; ++i) {
      const auto suppresses_i = [&](std::size_t j) {
        return suppresses(boxes + 4 * j, boxes + 4 * i, size.scalars[0]);
      };
      if (std::any_of(kept.begin(), kept.end(), suppresses_i)) {
        keep[i] = 0;
      } else {
        kept.push_back(i);
      }
    }
    return keep;
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    std::fill(scale, scale + (range.end - range.begin), 0.0);
    std::copy(host.digest().begin() + range.begin, host.digest().begin() + range.end, want);
  }
  double tolerance(const ladder::Size&) const override { return 0; }

  // "row": each box overlaps its successors, so every second one is kept at 0.5. "at the threshold": pairs whose IoU is
  // exactly 0.5. "within a rounding": within a rounding of it. "no area": empty and reversed boxes, among others.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", true, of_box<random>},
            {"row", true, of_box<row>},
            {"at the threshold", true, of_box<at_threshold>},
            {"within a rounding", true, of_box<within_a_rounding>},
            {"no area", true, of_box<no_area>},
            {"NaN and infinities", true, of_box<special>},
            {"equal", true, of_box<equal>},
            {"far apart", true, of_box<far_apart>}};
  }
  // Sizes near a warp and near words of 64 boxes: one, two, three, and more words than a block has warps.
  std::vector<ladder::Size> test_sizes() const override {
    std::vector<ladder::Size> sizes;
    for (const std::size_t n : {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 191, 193, 260, 517}) {
      sizes.push_back(of(n));
    }
    for (const float threshold : {0.0f, 0.3f, 0.7f, 1.0f, -1.0f}) sizes.push_back(of(130, threshold));
    sizes.push_back(of(2117, 0.4f));
    return sizes;
  }
  // A mask of more than 2^31 bytes.
  std::vector<ladder::Size> huge_sizes() const override { return {of(131203)}; }
  std::vector<ladder::Size> bench_sizes() const override { return {of(1024), of(4096), of(16384), of(65536)}; }
  // 12 per pair: two minima, two maxima, three subtractions, two products, one addition, two comparisons.
  double flops(const ladder::Size& size) const override {
    const auto n = static_cast<double>(size[0]);
    return 6 * n * (n - 1);
  }
  // Boxes, flags, and one bit per pair, which all steps but the last write and read.
  double bytes(const ladder::Size& size) const override {
    const auto n = static_cast<double>(size[0]);
    return 17 * n + n * n / 8;
  }
  double scratch_bytes(const ladder::Size& size) const override {
    return scratch_ * static_cast<double>(size[0]) * static_cast<double>(size[0]);
  }

 private:
  static constexpr std::size_t kMost = 1 << 18;  // a mask of 8 GB
  static ladder::Size of(std::size_t n, float threshold = 0.5f) { return ladder::Size({n}, {threshold}); }

  // A sum, difference or product of two floats, computed in double and rounded to float, equals the float operation's
  // result.
  static bool suppresses(const float* a, const float* b, float threshold) {
    const auto minus = [](float p, float q) { return static_cast<float>(static_cast<double>(p) - q); };
    const auto times = [](float p, float q) { return static_cast<float>(static_cast<double>(p) * q); };
    const float w = minus(std::min(a[2], b[2]), std::max(a[0], b[0]));
    const float h = minus(std::min(a[3], b[3]), std::max(a[1], b[1]));
    if (!(w > 0 && h > 0)) return false;
    const float areas = static_cast<float>(static_cast<double>(times(minus(a[2], a[0]), minus(a[3], a[1]))) +
                                           times(minus(b[2], b[0]), minus(b[3], b[1])));
    const float overlap = times(w, h);
    return overlap > 0 && overlap > times(threshold, minus(areas, overlap));
  }

  struct Box {
    double x1, y1, x2, y2;
  };
  template <Box (*kBox)(std::uint64_t seed, std::size_t box, std::size_t boxes)>
  static double of_box(std::uint64_t seed, std::size_t, std::size_t i, std::size_t n) {
    const Box box = kBox(seed, i / 4, n / 4);
    return i % 4 == 0 ? box.x1 : i % 4 == 1 ? box.y1 : i % 4 == 2 ? box.x2 : box.y2;
  }
  // Uniform in [0, 1): draw k of box or object i.
  static double uniform(std::uint64_t seed, std::size_t k, std::size_t i) {
    return (ladder::patterns::random(seed, k, i, 0) + 1) / 2;
  }
  // Like a detector's output: about eight boxes per object in an image of 1000 x 1000 pixels, in random order.
  static Box random(std::uint64_t seed, std::size_t i, std::size_t n) {
    const std::size_t object = ladder::hash(seed, 0, i) % (n / 8 + 1);
    const double w = 20 + 40 * uniform(seed, 1, object), h = 20 + 40 * uniform(seed, 2, object);
    const double x = 1000 * uniform(seed, 3, object) + 0.4 * w * uniform(seed, 5, i);
    const double y = 1000 * uniform(seed, 4, object) + 0.4 * h * uniform(seed, 6, i);
    return {x, y, x + w * (0.8 + 0.4 * uniform(seed, 7, i)), y + h * (0.8 + 0.4 * uniform(seed, 8, i))};
  }
  static Box row(std::uint64_t, std::size_t i, std::size_t) {
    const auto x = static_cast<double>(i);
    return {x, 0, x + 4, 1};
  }
  static Box at_threshold(std::uint64_t, std::size_t i, std::size_t) {
    const auto x = static_cast<double>(i);
    return {x, 0, x + 3, 1};
  }
  static Box within_a_rounding(std::uint64_t seed, std::size_t i, std::size_t) {
    const std::size_t pair = i / 2;
    const double s = 0.7 + uniform(seed, 1, pair), h = 0.7 + uniform(seed, 2, pair), y = uniform(seed, 3, pair);
    const double x = 8.0 * static_cast<double>(pair % 64) + uniform(seed, 4, pair) + (i % 2 == 0 ? 0 : s);
    return {x, 16.0 * static_cast<double>(pair / 64) + y, x + 3 * s, 16.0 * static_cast<double>(pair / 64) + y + h};
  }
  static Box no_area(std::uint64_t seed, std::size_t i, std::size_t n) {
    const Box box = random(seed, i / 3, n);
    switch (i % 3) {
      case 0:
        return {box.x1, box.y1, box.x1, box.y2};
      case 1:
        return {box.x2, i % 2 == 0 ? box.y2 : box.y1, box.x1, i % 2 == 0 ? box.y1 : box.y2};
      default:
        return box;
    }
  }
  static Box special(std::uint64_t seed, std::size_t i, std::size_t n) {
    Box box = random(seed, i, n);
    double* const coordinates[] = {&box.x1, &box.y1, &box.x2, &box.y2};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::uint64_t h = ladder::hash(seed, 9, i);
    if (h % 4 == 0) *coordinates[h / 4 % 4] = std::numeric_limits<double>::quiet_NaN();
    if (h % 4 == 1) *coordinates[h / 4 % 4] = h / 4 % 4 < 2 ? -infinity : infinity;
    return box;
  }
  static Box equal(std::uint64_t, std::size_t, std::size_t) { return {1, 2, 3, 5}; }
  static Box far_apart(std::uint64_t, std::size_t i, std::size_t) {
    const auto x = 2 * static_cast<double>(i);
    return {x, x, x + 1, x + 1};
  }

  Launch launch_;
  double scratch_;
};
