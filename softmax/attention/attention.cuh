// Attention in FP32: O = softmax(Q K^T / sqrt(d)) V.
// Computed for each head as attention_problem.cuh defines it.
// practice: hard, next attention_bf16
#pragma once
#include "../attention_problem.cuh"

class Attention : public AttentionProblem {
 public:
  // Q and O are heads x queries x d, K and V heads x keys x d, row-major without gaps. `heads` counts the heads of all
  // sequences of a batch. d is 64 or 128. Arrays do not overlap and need not be 16-byte aligned. heads, queries and
  // keys may be 0. Scores and V are finite, also for masked keys, so a kernel may multiply them by 0.
  using Launch = void (*)(const float* Q, const float* K, const float* V, float* O, std::size_t heads,
                          std::size_t queries, std::size_t keys, int d, bool causal);

  // keeps_scores: the step allocates memory for all scores.
  explicit Attention(Launch launch, Roundings roundings = any_roundings, bool keeps_scores = false)
      : AttentionProblem(roundings, keeps_scores), launch_(launch) {}

  const char* kernel() const override { return "attention"; }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override { return arrays<float>(size); }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const float>(0), device.at<const float>(1), device.at<const float>(2), device.at<float>(3),
            size[0], size[1], size[2], static_cast<int>(width(size)), size[4] != 0);
  }

  // Elements of rows that are not sampled (sampled_rows.cuh) need only be written, with any number but not NaN.
  void expect(const ladder::Arrays& host, const ladder::Size& size, const ladder::Range& range, double* want,
              double* scale) const override {
    const double least = static_cast<double>(least_roundings(size)) * ladder::kUnitRoundoff;
    const double gu = static_cast<double>(width(size) + 4) * ladder::kUnitRoundoff;
    const Rounding rounding = {gu / (1 - gu), std::numeric_limits<float>::denorm_min()};
    reference<float>(host, size, range, want, scale, rounding, [=](const Row& row, std::size_t c, double& x) {
      x = row.want[c];
      return row.magnitude[c] + std::fabs(x) + row.score_error[c] / least;
    });
  }

 private:
  Launch launch_;
};
