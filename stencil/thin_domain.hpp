// Host code for thin domains: the share of a tile's work that is useful, the tile height for few rows, the index type,
// and division by the row length. test_stencil.cpp tests it.
#pragma once
#include "ladder.cuh"

#include <algorithm>
#include <initializer_list>

constexpr int kThinBlock = 256;  // threads
constexpr int kThinCells = 4;    // per thread, so that several loads are in flight

// Returns the share of loaded cells that are stored along a side of `length` cells, if each tile loads `loaded` and
// stores `stored` cells. The product over all sides is the share of the work that is useful.
inline double tile_share(std::size_t length, std::size_t stored, std::size_t loaded) {
  return static_cast<double>(length) / static_cast<double>(ceil_div(length, stored) * loaded);
}

// Returns the height with the fewest rows to read (the first of equals), if a tile reads `halo` more than its height.
inline int tile_height(std::size_t rows, int halo, std::initializer_list<int> heights) {
  const auto read = [&](int height) {
    return ceil_div(rows, static_cast<std::size_t>(height)) * static_cast<std::size_t>(height + halo);
  };
  return *std::min_element(heights.begin(), heights.end(), [&](int a, int b) { return read(a) < read(b); });
}

// Divides by a number that is not known at compile time.
template <typename Index>
struct Divisor {
  Index d;
  explicit Divisor(std::size_t d) : d(d) {}
  __host__ __device__ Index quotient(Index n) const { return n / d; }
};

// Divides by a multiplication, 3 instructions instead of about 20: n / d = n * multiplier / 2^(31 + shift), rounded
// down, for all n < 2^31, where 2^shift >= d and multiplier = 2^(31 + shift) / d rounded up. Rounding up adds less than
// 1 / d to the quotient (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994).
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

// Calls launch(blocks, Index{}). Index is unsigned for up to 2^31 cells, else std::uint64_t.
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
