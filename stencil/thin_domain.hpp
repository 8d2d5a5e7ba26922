// For thin domains, on the host: whether a domain is one, how high tiles are where rows are few, the type of indices,
// and the division by the rows' length. test_stencil.cpp asks, too.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <initializer_list>

constexpr int kThinBlock = 256;  // threads
constexpr int kThinCells = 4;    // per thread: the loads of one need not wait for those of another

// The share of the cells loaded by tiles along a side of `length` that are stored, if each loads `loaded` and stores
// `stored`. The product over all sides is the share of a tile's work that counts.
inline double tile_share(std::size_t length, std::size_t stored, std::size_t loaded) {
  return static_cast<double>(length) / static_cast<double>(ceil_div(length, stored) * loaded);
}

// The height with the fewest rows to read: those of all tiles that `rows` need, with `halo` more each.
inline int tile_height(std::size_t rows, int halo, std::initializer_list<int> heights) {
  const auto read = [&](int height) {
    return ceil_div(rows, static_cast<std::size_t>(height)) * static_cast<std::size_t>(height + halo);
  };
  return *std::min_element(heights.begin(), heights.end(), [&](int a, int b) { return read(a) < read(b); });
}

// Divides by a number unknown at compile time.
template <typename Index>
struct Divisor {
  Index d;
  explicit Divisor(std::size_t d) : d(d) {}
  __host__ __device__ Index quotient(Index n) const { return n / d; }
};

// By a multiplication, 3 instructions instead of about 20: n / d = n * multiplier / 2^(31 + shift), rounded down, for
// all n < 2^31, with 2^shift >= d and multiplier = 2^(31 + shift) / d rounded up. Rounding up adds less than 1 / d to
// the quotient (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
template <>
struct Divisor<unsigned> {
  unsigned d, shift = 0, multiplier;
  explicit Divisor(std::size_t divisor) : d(static_cast<unsigned>(divisor)) {
    while (std::uint64_t{1} << shift < d) ++shift;
    multiplier = static_cast<unsigned>(ceil_div(std::uint64_t{1} << (31 + shift), std::uint64_t{d}));
  }
  __host__ __device__ unsigned quotient(unsigned n) const {
    return static_cast<unsigned>(std::uint64_t{n} * multiplier >> 31) >> shift;
  }
};

// Calls launch(blocks, Index{}) with the index type that `cells` cells need.
template <typename Launch>
void launch_thin(std::size_t cells, const Launch& launch) {
  const auto blocks = static_cast<unsigned>(ceil_div(cells, std::size_t{kThinBlock * kThinCells}));
  if (cells <= std::size_t{1} << 31) {
    launch(blocks, unsigned{});
  } else {
    launch(blocks, std::uint64_t{});
  }
  CUDA_CHECK(cudaGetLastError());
}
