// From places in the program to lines of the source.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda_emu/trace.hpp"

namespace cuda_emu::trace {

// For each return address: the innermost line of a .cu or .cuh file that it belongs to; line 0 where there is none.
// Asks addr2line, of binutils; ends the program if there is none.
std::vector<Line> find_lines(const std::vector<const void*>& return_addresses);

}  // namespace cuda_emu::trace
