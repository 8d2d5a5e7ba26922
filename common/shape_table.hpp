// Looks up the entry for a row length in the tables of the *_shapes.hpp headers.
#pragma once
#include <cstddef>

// Returns the index of the first shape whose `longest` is at least `length`, or kCount. Shapes are sorted by `longest`;
// a table may end with entries of 0, which are never found.
template <typename Shape, std::size_t kCount>
constexpr std::size_t first_long_enough(const Shape (&shapes)[kCount], std::size_t length) {
  std::size_t i = 0;
  while (i < kCount && length > shapes[i].longest) ++i;
  return i;
}
