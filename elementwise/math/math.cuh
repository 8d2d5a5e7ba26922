// What arithmetic costs: sines and a power.
// y[i] = v^3 * sum over k = 1..8 of (sin(k v / 8) + cos(k v / 8)), v = x[i], |v| <= 3. NaN gives NaN.
// practice: easy, next registers
#pragma once
#include "../unary.cuh"

constexpr int kTerms = 8;

// Returns the sum over k of sin(k w) + cos(k w).
inline double eight_terms(double w) {
  double sum = 0;
  for (int k = 1; k <= kTerms; ++k) sum += std::sin(k * w) + std::cos(k * w);
  return sum;
}

// Selects the error bounds of a step's functions: CUDA's table for the ordinary ones, or for the intrinsics.
enum class Functions { ordinary, intrinsic };

class Math : public Unary {
 public:
  explicit Math(Launch launch, Functions functions = Functions::ordinary) : Unary(launch), functions_(functions) {}

  const char* kernel() const override { return "math"; }
  double tolerance(const ladder::Size&) const override { return ladder::kUnitRoundoff; }

  // Only inputs within the domain.
  std::vector<ladder::Pattern> patterns() const override {
    return {{"random", false, three}, {"near 0", false, near_0}, {"edges", false, edges}};
  }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 24}, {std::size_t{1} << 26}}; }

 protected:
  double value(double v) const override { return v * v * v * eight_terms(v / 8); }
  // In units of u, to first order:
  // - an angle is rounded once; sine and cosine change by at most that error: 2 * 4.5 |v| over the 8 terms;
  // - a sine or cosine is within 2 ulp, 2 u below 1; an intrinsic within 2^-21.19, 7.03 u, from -pi to pi: 16 of them;
  // - a pair is at most 1.42 and its addition rounds once: 8 * 1.42. The running sum is at most 1.42 k: 36 * 1.42;
  // - powf is within 4 ulp, 8 u, and the product rounds once: 9 times the result. v * v * v rounds twice.
  // 2 % are for higher orders. The cube of a tiny v loses its low bits: 40 times the smallest subnormal.
  double error_scale(double v, double want) const override {
    if (std::isnan(v)) return 0;
    const double functions = 16 * (functions_ == Functions::ordinary ? 2 : 7.03);
    const double of_sum = 9 * std::fabs(v) + functions + (8 + 36) * 1.42;
    constexpr double tiny = 40.0 * std::numeric_limits<float>::denorm_min() / ladder::kUnitRoundoff;
    return 1.02 * (std::fabs(v * v * v) * of_sum + 9 * std::fabs(want)) + tiny;
  }

 private:
  static double three(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return 3 * ladder::patterns::random(seed, buffer, i, n);
  }
  static double near_0(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t n) {
    return ladder::patterns::random(seed, buffer, i, n) / (1 << 10);
  }
  static double edges(std::uint64_t, std::size_t, std::size_t i, std::size_t) {
    using limits = std::numeric_limits<float>;
    constexpr float values[] = {0.0f,
                                -0.0f,
                                3.0f,
                                -3.0f,
                                1.0f,
                                -1.0f,
                                limits::denorm_min(),
                                -limits::min(),
                                1e-15f,
                                limits::quiet_NaN(),
                                2.3561945f,
                                -1.5707964f};
    return values[i % (sizeof values / sizeof *values)];
  }

  Functions functions_;
};
