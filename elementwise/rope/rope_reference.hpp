// Shared by rope and rope_cache: indices of a pair, a rotated element in double and the error bound of a float result.
#pragma once
#include "ladder.cuh"

#include <cmath>

constexpr float kLog2Base = 13.287712379549449f;  // of the base, 10000
constexpr unsigned kMostWidth = 1024;             // of a head, in elements

// Return the index of pair i's first element in its head, and the distance to the second.
inline __host__ __device__ unsigned first_of_pair(unsigned i, bool halves) { return halves ? i : 2 * i; }
inline __host__ __device__ unsigned pair_distance(unsigned d, bool halves) { return halves ? d / 2 : 1; }

struct Rotated {
  double value, error;
};

// Returns element c of the head after its rotation, and an error bound. With u = 2^-24 and f = 2 i / d:
// - The exponent -log2(10000) f is rounded three times (the constant, the quotient, the product), so the relative error
//   of 10000^-f is 3 u f ln(10000). powf or exp2f add at most 8 u (4 ulp), a reciprocal and the product with the
//   position u each: the relative error of the angle is (3 f ln(10000) + 10) u.
// - sincosf is within 2 ulp, so 4 u; each product and the sum add u.
// An error a in the angle rotates (x, y) by a, which changes each of them by at most a (|x| + |y|).
template <typename T>
Rotated rotated(const T* head, std::size_t c, std::size_t d, bool halves, int position) {
  constexpr double u = ladder::kUnitRoundoff;
  const std::size_t half = d / 2, i = halves ? c % half : c / 2;
  const bool second = halves ? c >= half : c % 2 == 1;
  const double x = static_cast<float>(head[c]);
  const double partner = static_cast<float>(head[halves ? (second ? c - half : c + half) : c ^ 1]);
  const double f = 2.0 * static_cast<double>(i) / static_cast<double>(d);
  const double angle = position * std::pow(10000.0, -f), sine = std::sin(angle);
  const double of_angle = (3 * f * std::log(10000.0) + 10) * u * angle;
  return {x * std::cos(angle) + partner * (second ? sine : -sine),
          1.001 * (std::fabs(x) + std::fabs(partner)) * (of_angle + 6 * u) + 4 * ladder::kEitherZero};
}

// Returns a small position, so that no infinity is multiplied by a sine or cosine whose sign is uncertain.
inline double short_position(std::uint64_t seed, std::size_t buffer, std::size_t i) {
  return static_cast<double>(ladder::hash(seed, buffer, i) % 8);
}
// Returns a position below 2^17, as in a long context.
inline double long_position(std::uint64_t seed, std::size_t buffer, std::size_t i) {
  return static_cast<double>(ladder::hash(seed, buffer, i) % (1 << 17));
}

// Throws UsageError for heads without pairs and for more than 1e13 pairs.
inline void require_heads(std::size_t tokens, std::size_t heads, std::size_t pairs) {
  if (pairs == 0) throw ladder::UsageError("--pairs: a head has at least one pair");
  if (static_cast<double>(tokens) * static_cast<double>(heads) * static_cast<double>(pairs) > 1e13) {
    throw ladder::UsageError("--tokens: " + std::to_string(tokens) + " tokens are too many");
  }
}
