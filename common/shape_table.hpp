// Finds the entry for rows of a given length in the tables of the *_shapes.hpp headers.
#pragma once
#include <cstddef>

// The index of the first shape whose `longest` is at least `length`, or kCount if there is none. Shapes are sorted by
// `longest`; at the end of the table may be others, with 0, that no length of 1 or more finds.
template <typename Shape, std::size_t kCount>
constexpr std::size_t first_long_enough(const Shape (&shapes)[kCount], std::size_t length) {
  std::size_t i = 0;
  while (i < kCount && length > shapes[i].longest) ++i;
  return i;
}
