// Row softmax on the CPU: a ladder of its own, so that the GPU is compared with a fast CPU version.
//
//   softmax_cpu              checks every variant, then times it on 16384 x 1024
//   softmax_cpu ROWS COLS    the same at another size
//   softmax_cpu --check      only checks, on awkward sizes
//
// Every variant is checked against the same double-precision reference as the GPU steps. The last one, which does not
// subtract the maximum, is wrong and must fail that check. Exit status: 0 if all this holds.
#include "row_softmax.cuh"
#include "runner/definitions.hpp"
#include "runner/host_variants.hpp"

#include <cstdlib>
#include <cstring>

namespace {

using Row = const float* __restrict__;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Safe: three passes. The second one stores the exponentials, so that each is computed once.
void safe(Row x, float* __restrict__ y, long cols) {
  float max = -kInfinity, sum = 0;
  for (long j = 0; j < cols; ++j) max = std::max(max, x[j]);
  for (long j = 0; j < cols; ++j) sum += y[j] = std::exp(x[j] - max);
  for (long j = 0; j < cols; ++j) y[j] /= sum;
}

// Online: one pass for the maximum and the sum, which is rescaled at each new maximum, and one for the result. x is
// read twice, and y is not read; each exponential is computed twice.
void online(Row x, float* __restrict__ y, long cols) {
  float max = -kInfinity, sum = 0;
  for (long j = 0; j < cols; ++j) {
    if (x[j] > max) {
      sum = sum * std::exp(max - x[j]) + std::exp(x[j] - x[j]);  // 1, but NaN for +inf
      max = x[j];
    } else if (x[j] != -kInfinity) {  // -inf adds 0, also while the maximum is -inf
      sum += std::exp(x[j] - max);
    }
  }
  for (long j = 0; j < cols; ++j) y[j] = std::exp(x[j] - max) / sum;
}

// Returns exp(x) for x <= 0 with arithmetic only, so that the compiler can compute 8 or 16 at a time: 2^k e^r with |r|
// <= ln 2 / 2 and Taylor's polynomial of degree 7 for e^r, which is off by 0.09 u. NaN stays NaN.
inline float exp_of_negative(float x) {
  x = x < -110.0f ? -110.0f : x;                   // e^-110 is 0 in float
  constexpr float kRound = 12582912.0f;            // 1.5 x 2^23: adding it rounds to a whole number
  const float shifted = x * 1.44269504f + kRound;  // k = x / ln 2, in the lowest bits
  const float k = shifted - kRound;
  float r = x - k * 0.693145752f;  // ln 2 in two parts: the first has 16 bits
  r -= k * 1.42860677e-6f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1;
  p = p * r + 1;
  unsigned bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  // 2^k is the product of two powers, because k may be as low as -159 and the result subnormal
  const int exponent = static_cast<int>(bits - 0x4b400000u), half = exponent >> 1;
  const unsigned first = static_cast<unsigned>(half + 127) << 23;
  const unsigned second = static_cast<unsigned>(exponent - half + 127) << 23;
  float a, b;
  std::memcpy(&a, &first, sizeof a);
  std::memcpy(&b, &second, sizeof b);
  return p * a * b;
}

inline float maximum(Row x, long cols) {
  float max = -kInfinity;
#pragma omp simd reduction(max : max)
  for (long j = 0; j < cols; ++j) max = x[j] > max ? x[j] : max;
  return max;
}

void safe_simd(Row x, float* __restrict__ y, long cols) {
  const float max = maximum(x, cols);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long j = 0; j < cols; ++j) sum += y[j] = exp_of_negative(x[j] - max);
  const float scale = 1 / sum;
#pragma omp simd
  for (long j = 0; j < cols; ++j) y[j] *= scale;
}

// Online by chunks that fit in L1: the maximum of a chunk, then its sum. One rescaling per chunk, so both loops are
// SIMD.
constexpr long kChunk = 2048;

void online_simd(Row x, float* __restrict__ y, long cols) {
  float max = -kInfinity, sum = 0;
  for (long j0 = 0; j0 < cols; j0 += kChunk) {
    const long count = std::min(kChunk, cols - j0);
    const float higher = std::max(max, maximum(x + j0, count));
    const float base = higher == -kInfinity ? 0 : higher;  // if all are -inf so far, each exponential is 0
    float more = 0;
#pragma omp simd reduction(+ : more)
    for (long j = j0; j < j0 + count; ++j) more += exp_of_negative(x[j] - base);
    sum = sum * std::exp(max - base) + more;
    max = higher;
  }
  const float scale = 1 / sum;
#pragma omp simd
  for (long j = 0; j < cols; ++j) y[j] = exp_of_negative(x[j] - max) * scale;
}

// The version that overflows: exp(x) over the sum of exp(x).
void unsafe(Row x, float* __restrict__ y, long cols) {
  float sum = 0;
  for (long j = 0; j < cols; ++j) sum += y[j] = std::exp(x[j]);
  for (long j = 0; j < cols; ++j) y[j] /= sum;
}

// What any softmax must do at least: read x and write y once.
void copy(Row x, float* __restrict__ y, long cols) { std::copy(x, x + cols, y); }

template <void (*row)(Row, float* __restrict__, long)>
void one_thread(Row x, float* __restrict__ y, long rows, long cols) {
  for (long r = 0; r < rows; ++r) row(x + r * cols, y + r * cols, cols);
}

template <void (*row)(Row, float* __restrict__, long)>
void openmp(Row x, float* __restrict__ y, long rows, long cols) {
#pragma omp parallel for
  for (long r = 0; r < rows; ++r) row(x + r * cols, y + r * cols, cols);
}

struct Variant {
  const char* name;
  void (*run)(Row, float* __restrict__, long, long);
};
constexpr Variant kVariants[] = {{"safe", one_thread<safe>},
                                 {"online", one_thread<online>},
                                 {"safe, SIMD", one_thread<safe_simd>},
                                 {"online, SIMD", one_thread<online_simd>},
                                 {"safe, OpenMP", openmp<safe>},
                                 {"safe, SIMD, OpenMP", openmp<safe_simd>},
                                 {"online, SIMD, OpenMP", openmp<online_simd>}};
constexpr Variant kWrong = {"without the maximum", one_thread<unsafe>};
constexpr Variant kCopy = {"(a copy, OpenMP)", openmp<copy>};

std::string problem_of(const Variant& variant, const ladder::Case& c) {
  return ladder::problem_of(c, 1, [&](float* y) {
    variant.run(reinterpret_cast<const float*>(c.host(0)), y, static_cast<long>(c.size()[0]),
                static_cast<long>(c.size()[1]));
  });
}

// Prints what fails. Returns true if all variants are right and the wrong one is caught.
bool check(const ladder::Size& size) {
  const RowSoftmax problem(nullptr);
  bool ok = true;
  for (const ladder::Pattern& pattern : ladder::patterns_for(problem, size)) {
    const ladder::Case c(problem, size, pattern, 1);
    for (const Variant& variant : kVariants) {
      const std::string text = problem_of(variant, c);
      if (text.empty()) continue;
      std::printf("%s: FAIL, %zu x %zu, %s data: %s\n", variant.name, size[0], size[1], pattern.name, text.c_str());
      ok = false;
    }
    // exp(1000) is infinite, and so is its sum
    const bool overflows = size[0] > 0 && size[1] > 100;
    if (std::string(pattern.name) == "thousands" && overflows && problem_of(kWrong, c).empty()) {
      std::printf("%s: NOT CAUGHT at %zu x %zu\n", kWrong.name, size[0], size[1]);
      ok = false;
    }
  }
  return ok;
}

void time_all(const ladder::Size& size) {
  const std::vector<float> x = ladder::random_floats(size[0] * size[1]);
  std::vector<float> y(x.size());
  std::printf("%zu x %zu, %s\n", size[0], size[1], ladder::threads_in_words().c_str());
  const auto print = [&](const Variant& variant) {
    const auto rows = static_cast<long>(size[0]), cols = static_cast<long>(size[1]);
    const double ms = ladder::best_ms([&] { variant.run(x.data(), y.data(), rows, cols); });
    std::printf("%-28s %9.2f ms %8.2f GB/s\n", variant.name, ms, 8e-6 * static_cast<double>(x.size()) / ms);
  };
  for (const Variant& variant : kVariants) print(variant);
  print(kCopy);
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_check = argc == 2 && std::string(argv[1]) == "--check";
  ladder::Size size{16384, 1024};
  if (argc == 3) size = {std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10)};
  constexpr std::size_t most = std::size_t{1} << 28;
  if ((argc != 1 && argc != 3 && !only_check) || size[0] < 1 || size[1] < 1 || size[0] > most ||
      size[1] > most / size[0]) {
    std::fprintf(stderr, "usage: %s [--check | ROWS COLS], at most 2^28 elements\n", argv[0]);
    return 2;
  }
  bool ok = true;
  if (only_check) {
    for (const ladder::Size& each : RowSoftmax(nullptr).test_sizes()) {
      if (each[0] * each[1] < 5000) ok &= check(each);  // 5001 elements stand for all longer rows
    }
    ok &= check({2, 5001});
  } else {
    ok = check({33, 2500});
  }
  std::printf("%s\n", ok ? "all variants are right, and the one without the maximum was caught" : "FAIL");
  if (!ok) return 1;
  if (!only_check) time_all(size);
  return 0;
}
