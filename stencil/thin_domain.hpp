// What thin domains need besides their kernel, thin_domain.cuh: whether a domain is one, how high tiles are where rows are few,
// the type of the indices, the division by the length of the rows. Apart, so that a test can ask.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <initializer_list>

constexpr int kThinBlock = 256;  // threads
constexpr int kThinCells = 4;    // per thread: the loads of one need not wait for those of another

// Of the cells that tiles of `loaded` load along a side of `length`, the share that they store, if each stores `stored`.
// The product over all sides is the share of a tile's work that counts.
inline double tile_share(std::size_t length, std::size_t stored, std::size_t loaded) {
  return static_cast<double>(length) / static_cast<double>(ceil_div(length, stored) * loaded);
}

// Of tiles' heights the one with the fewest rows to read: those of all tiles that `rows` need, with `halo` more each.
inline int tile_height(std::size_t rows, int halo, std::initializer_list<int> heights) {
  const auto read = [&](int height) {
    return ceil_div(rows, static_cast<std::size_t>(height)) * static_cast<std::size_t>(height + halo);
  };
  return *std::min_element(heights.begin(), heights.end(), [&](int a, int b) { return read(a) < read(b); });
}

// Divides by a number that the compiler does not know.
template <typename Index>
struct Divisor {
  Index d;
  explicit Divisor(std::size_t d) : d(d) {}
  __host__ __device__ Index quotient(Index n) const { return n / d; }
};

// By a multiplication, 3 instructions instead of about 20: n / d = n * multiplier / 2^(31 + shift), rounded down, for all
// n < 2^31, with 2^shift >= d and multiplier = 2^(31 + shift) / d rounded up. What rounding up adds to the quotient is
// less than n / 2^31 / d, so less than 1 / d (Granlund and Montgomery, Division by Invariant Integers using
// Multiplication, 1994).
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

// Calls launch(blocks, Index{}) with the type of index that such a kernel needs for `cells` cells.
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
