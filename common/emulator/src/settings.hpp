// The settings behind the public functions of cuda_emu/settings.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_emu/settings.hpp"
#include "device_limits.hpp"

namespace cuda_emu {

enum class Order : unsigned char { forward, reverse, random };

struct Settings {
  Order order = Order::forward;
  std::uint64_t seed = 0;
  unsigned workers = 1;
  std::size_t stack_size = 0;
  unsigned timeout = 0;  // seconds; 0: none
  unsigned multiprocessors = kDefaultMultiprocessors;
  unsigned char fill = 0xff;  // value of each byte of fresh memory
  bool launches_only = false;
};

// Returns the settings. They are read from the environment when the program starts; a bad value ends the program with
// exit status 2.
Settings& settings();

}  // namespace cuda_emu
