// How many query heads a warp takes: a number that the compiler knows, so that they stay in registers.
#pragma once
#include <cstddef>
#include <type_traits>

// Calls launch(std::integral_constant<int, G>()), G the least of 1, 2, 4 and 8 that holds a group, or 8.
template <typename Launch>
void with_group(std::size_t groups, const Launch& launch) {
  if (groups > 4) {
    launch(std::integral_constant<int, 8>());
  } else if (groups > 2) {
    launch(std::integral_constant<int, 4>());
  } else if (groups > 1) {
    launch(std::integral_constant<int, 2>());
  } else {
    launch(std::integral_constant<int, 1>());
  }
}
