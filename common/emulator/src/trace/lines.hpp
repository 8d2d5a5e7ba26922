// Maps addresses in the program to source lines.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda_emu/trace.hpp"

namespace cuda_emu::trace {

// Returns for each return address the innermost line of a .cu or .cuh file; line 0 if there is none. Runs addr2line
// (binutils), and ends the program if it is missing.
std::vector<Line> find_lines(const std::vector<const void*>& return_addresses);

}  // namespace cuda_emu::trace
