// Sliding-window attention in BF16, a sink logit per head.
// Like attention_bf16 with its causal mask, but a query attends only to the last `window` keys up to its own. The
// softmax has one more score, the sink: a learned number per head, with value 0. It is part of the maximum and the sum,
// but not of O. gpt-oss calls this an attention sink; StreamingLLM's sinks are the sequence's first keys.
// practice: hard, next attention_decode
#pragma once
#include "bf16_attention_problem.cuh"

class AttentionBf16Window : public Bf16AttentionProblem {
 public:
  // Layout, types and roundings are those of attention_bf16. Query i attends to the keys from p - window + 1 to p, p =
  // i + keys - queries: at least one if queries <= keys. Otherwise the first queries - keys rows have none and are 0,
  // whatever the sink. window is at least 1 and may exceed the number of keys. The sinks, one per head, are finite, or
  // -inf for no sink. They are not divided by sqrt(d).
  using Launch = void (*)(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, const float* sinks,
                          __nv_bfloat16* O, std::size_t heads, std::size_t queries, std::size_t keys, int d,
                          std::size_t window);

  explicit AttentionBf16Window(Launch launch, Roundings roundings = any_roundings)
      : Bf16AttentionProblem(roundings), launch_(launch) {}

  const char* kernel() const override { return "attention_bf16_window"; }
  std::vector<ladder::Dim> dims() const override {
    std::vector<ladder::Dim> all = AttentionProblem::dims();
    all.back() = {"window", 128, 33, (std::size_t{1} << 31) - 1};
    return all;
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    if (size[4] == 0) throw ladder::UsageError("--window: must be at least 1");
    std::vector<ladder::Buffer> all = bf16_arrays(size);
    all.insert(all.begin() + kSinks, ladder::input<float>("sinks", size[0]));
    return all;
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<const float>(kSinks), device.at<__nv_bfloat16>(4), size[0], size[1], size[2],
            static_cast<int>(width(size)), size[4]);
  }

  // Sinks are near the scores, far below, far above, or absent. In exact patterns they are far below all scores.
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    if (buffer != kSinks) return pattern.value(seed, buffer, i, n);
    if (pattern.exact) return -10000;
    const double near = 3 * ladder::patterns::random(seed, buffer, i, n);
    const double sinks[] = {near, near - 50, near + 12, -std::numeric_limits<double>::infinity()};
    return sinks[ladder::hash(seed, size[1] + size[2], i) % 4];
  }

  // heads, queries, keys, d, window: like AttentionProblem's, with windows of 1, around the tiles of 16 to 128, and
  // longer than the keys; windows that begin in each part of a tile; tiles of queries with and without keys.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 3, 5, 0, 1},       {2, 0, 5, 0, 2},       {2, 3, 0, 0, 3},       {2, 3, 0, 128, 1},
            {1, 1, 1, 0, 1},       {3, 1, 1, 128, 9},     {2, 1, 70, 0, 17},     {2, 67, 1, 0, 4},
            {3, 2, 3, 0, 2},       {2, 7, 5, 0, 3},       {2, 31, 33, 0, 5},     {1, 33, 31, 128, 16},
            {1, 64, 64, 0, 1},     {1, 64, 64, 128, 63},  {1, 65, 63, 0, 15},    {1, 63, 65, 128, 64},
            {1, 127, 129, 0, 65},  {2, 129, 127, 0, 17},  {1, 128, 128, 128, 2}, {1, 17, 200, 0, 100},
            {1, 150, 20, 0, 7},    {2, 133, 70, 0, 33},   {1, 70, 133, 128, 48}, {1, 9, 517, 0, 300},
            {2, 1, 1100, 128, 70}, {1, 260, 260, 0, 128}, {1, 200, 391, 128, 9}, {1, 130, 130, 0, 2000}};
  }
  // More than 2^31 elements in Q, in K, and in both: first in long sequences, then in many heads.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{3, 11200003, 3, 0, 2}, {3, 3, 11200003, 0, 11200000}, {(1 << 25) + 3, 1, 1, 0, 1}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{64, 2048, 2048, 0, 128}, {64, 8192, 8192, 0, 128}, {64, 8192, 8192, 0, 1024}, {64, 8192, 8192, 128, 1024}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t d = draw.coin() ? 128 : 0, window = draw.length(8192);
    return draw_lengths(draw, bytes, {0, 0, 0, d, window});
  }

  // Counts the window's pairs of a query and a key: min(window, p + 1) for each p.
  double flops(const ladder::Size& size) const override {
    const auto up_to = [&](double keys) {
      const double short_rows = std::min(keys, static_cast<double>(size[4]));
      return short_rows * (short_rows + 1) / 2 + (keys - short_rows) * static_cast<double>(size[4]);
    };
    const double keys = static_cast<double>(size[2]), rows = static_cast<double>(std::min(size[1], size[2]));
    return 4.0 * static_cast<double>(width(size)) * static_cast<double>(size[0]) * (up_to(keys) - up_to(keys - rows));
  }

 private:
  static constexpr std::size_t kSinks = 3;

  Attended attended(const ladder::Arrays& host, const ladder::Size& size, std::size_t row) const override {
    Attended all = Bf16AttentionProblem::attended(host, size, row);  // causal, since window > 0
    all.first = all.end - std::min(all.end, size[4]);
    all.sink = host.at<const float>(kSinks)[row / size[1]];
    return all;
  }

  Launch launch_;
};
