// Which row of a table of shapes is meant for rows of a length. The tables stand in <kernel>_shapes.hpp.
#pragma once
#include <cstddef>

// The place of the first shape whose `longest` is at least `length`, or the number of shapes if none is. The shapes stand
// in the order of `longest`.
template <typename Shape, std::size_t kCount>
constexpr std::size_t first_long_enough(const Shape (&shapes)[kCount], std::size_t length) {
  std::size_t i = 0;
  while (i < kCount && length > shapes[i].longest) ++i;
  return i;
}
