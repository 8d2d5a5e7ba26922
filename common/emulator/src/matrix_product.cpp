#include "cuda_emu/matrix_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "scheduler.hpp"

namespace cuda_emu {
namespace {

int exponent_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<int>(bits >> 52 & 0x7ff) - 1023;
}

double power_of_two(int exponent) {
  const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Returns the sum of `count` terms, each exact in double, with the bits that a tensor core keeps.
float sum_at_once(const double* terms, int count, KeptBits kept) {
  constexpr int zero = -1023;
  int largest = zero;
  for (int i = 0; i < count; ++i) largest = std::max(largest, exponent_of(terms[i]));
  if (largest == zero) return 0;
  if (largest > 1023) {  // infinity or NaN
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += terms[i];
    return static_cast<float>(sum);
  }
  const int last_bit = largest - (kept.term - 1);
  const double scale = power_of_two(-last_bit);
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<std::int64_t>(terms[i] * scale);  // truncates
  std::int64_t unit = 1;
  while (std::abs(sum) / unit >> kept.sum != 0) unit *= 2;
  return static_cast<float>(static_cast<double>(sum / unit * unit) * power_of_two(last_bit));
}

}  // namespace

void multiply_on_tensor_core(int m, int n, int k, int group, const float* A, const float* B, float* D, KeptBits kept) {
  constexpr int kMostTerms = 33;
  double terms[kMostTerms];
  const auto any = [&](const float* first, int step) {
    for (int l = 0; l < k; ++l) {
      if (!(first[l * step] == 0)) return true;
    }
    return false;
  };
  for (int j = 0; j < n; ++j) {
    const bool any_b = any(B + j, n);
    for (int i = 0; i < m; ++i) {
      const float* a = A + i * k;
      float& d = D[i * n + j];
      for (int l = 0; l < k; l += group) {
        bool finite = true, none = !any_b && kept.sum >= 24;  // with fewer bits D is truncated, too
        if (none) {                                           // only infinity * 0 and NaN * 0 are not 0
          for (int x = 0; x < group; ++x) finite &= std::isfinite(a[l + x]);
          if (finite) continue;
        }
        for (int x = 0; x < group; ++x) terms[x] = static_cast<double>(a[l + x]) * B[(l + x) * n + j];
        terms[group] = d;
        d = sum_at_once(terms, group + 1, kept);
      }
    }
  }
}

void require_alignment(const void* memory, std::size_t alignment, const Where& where) {
  if (reinterpret_cast<std::uintptr_t>(memory) % alignment == 0) return;
  char text[200];
  snprintf(text, sizeof text, "%s at %s:%d: an address that is not a multiple of %zu bytes", where.what, where.file,
           where.line, alignment);
  active_worker(where.what).fail({"misaligned", text, place(where)}, cudaErrorMisalignedAddress);
}

void require_shared(const void* memory, std::size_t size, const Where& where) {
  Worker& worker = active_worker(where.what);
  if (worker.shared.contains(memory, size)) return;
  char text[200];
  snprintf(text, sizeof text, "%s at %s:%d: the address is not in shared memory", where.what, where.file, where.line);
  worker.fail({"address", text, place(where)});
}

}  // namespace cuda_emu
