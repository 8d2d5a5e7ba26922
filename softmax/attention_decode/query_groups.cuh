// Chooses how many query heads a warp takes, as a compile-time constant, so that their data stay in registers.
#pragma once
#include <cstddef>
#include <type_traits>

// Calls launch(std::integral_constant<int, G>()) with the least G of 1, 2, 4 and 8 that holds a group, or 8.
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
