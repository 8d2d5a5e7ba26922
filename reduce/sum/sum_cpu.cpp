// The sum on the CPU as a ladder of its own, so that the GPU is compared with fair CPU code:
//
//   sum_cpu                checks every variant, then times it on 2^26 floats
//   sum_cpu N              the same at another size
//   sum_cpu --check        only checks, on awkward sizes
//
// Every variant is checked against the double reference of the GPU steps. The last one adds eight elements at a time
// and drops the remainder: its check must fail. Exit status: 0 if all checks end as they should.
#include "sum.cuh"
#include "runner/definitions.hpp"
#include "runner/host_variants.hpp"

#include <cstdlib>

namespace {

using Input = const float* __restrict__;

// The loop as the formula reads. An addition waits 3 to 4 cycles for the previous one; the compiler may not reorder.
float one_chain(Input x, long n) {
  float sum = 0;
  for (long i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// Eight independent chains hide the latency. Eight floats fill a vector register, so the compiler may use vectors.
constexpr long kChains = 8;

template <bool kRemainder = true>
float eight_chains(Input x, long n) {
  float sums[kChains] = {};
  long i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (long c = 0; c < kChains; ++c) sums[c] += x[i + c];
  }
  float sum = 0;
  for (; kRemainder && i < n; ++i) sum += x[i];
  for (const float chain : sums) sum += chain;
  return sum;
}

// The pragma allows any order, so the compiler vectorises. One core then waits for memory if x isn't in a cache.
float simd(Input x, long n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// Each thread adds one part, and the partial sums are added at the end, as with the blocks of sum 08.
float parallel(Input x, long n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (long i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// Sums in double halve the elements per vector, and the error no longer grows with n.
float parallel_double(Input x, long n) {
  double sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (long i = 0; i < n; ++i) sum += x[i];
  return static_cast<float>(sum);
}

struct Variant {
  const char* name;
  float (*run)(Input x, long n);
};
constexpr Variant kVariants[] = {{"one chain", one_chain},
                                 {"eight chains", eight_chains<>},
                                 {"SIMD by the compiler", simd},
                                 {"SIMD, OpenMP", parallel},
                                 {"SIMD, OpenMP, in double", parallel_double}};
constexpr Variant kWrong = {"eight chains, no remainder", eight_chains<false>};

std::string problem_of(const Variant& variant, const ladder::Case& c) {
  return ladder::problem_of(c, 1, [&](float* out) {
    *out = variant.run(reinterpret_cast<const float*>(c.host(0)), static_cast<long>(c.size()[0]));
  });
}

// Prints each failure. Returns true if all variants are right and the wrong one was caught.
bool check(std::size_t n) {
  const Sum problem(nullptr);
  bool ok = true;
  for (const ladder::Pattern& pattern : ladder::patterns_for(problem, {n})) {
    const ladder::Case c(problem, {n}, pattern, 1);
    for (const Variant& variant : kVariants) {
      const std::string text = problem_of(variant, c);
      if (text.empty()) continue;
      std::printf("%s: FAIL, n=%zu, %s data: %s\n", variant.name, n, pattern.name, text.c_str());
      ok = false;
    }
    const bool misses = n % kChains > 0;  // the tail is 8, 4, 2, 1
    if (std::string(pattern.name) == "tail" && problem_of(kWrong, c).empty() == misses) {
      std::printf("%s: %s at n=%zu\n", kWrong.name, misses ? "NOT CAUGHT" : "FAIL", n);
      ok = false;
    }
  }
  return ok;
}

void time_all(std::size_t n) {
  const std::vector<float> x = ladder::random_floats(n);
  volatile float out = 0;  // keeps the compiler from dropping the sum
  std::printf("%zu floats, %s\n", n, ladder::threads_in_words().c_str());
  for (const Variant& variant : kVariants) {
    const double ms = ladder::best_ms([&] { out = variant.run(x.data(), static_cast<long>(n)); });
    std::printf("%-28s %9.2f ms %8.2f GB/s\n", variant.name, ms, 4e-6 * static_cast<double>(n) / ms);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_check = argc == 2 && std::string(argv[1]) == "--check";
  const std::size_t n = argc == 2 && !only_check ? std::strtoul(argv[1], nullptr, 10) : std::size_t{1} << 26;
  if (argc > 2 || n < 1 || n > std::size_t{1} << 32) {
    std::fprintf(stderr, "usage: %s [--check | N], at most 2^32 floats\n", argv[0]);
    return 2;
  }
  bool ok = true;
  if (only_check) {
    for (const ladder::Size& size : Sum(nullptr).test_sizes()) ok &= check(size[0]);
  } else {
    ok = check(100003);
  }
  std::printf("%s\n", ok ? "all variants are right, and the one without the remainder was caught" : "FAIL");
  if (!ok) return 1;
  if (!only_check) time_all(n);
  return 0;
}
