// Finds the line of a .cu file that is running, or that a signal interrupted.
#pragma once

#include <cstddef>

namespace cuda_emu {

// Must be called once, before the first signal.
void prepare_source_lines();

// Writes "file.cu:12": the position in the innermost function of a .cu or .cuh file. `context` is the signal handler's
// argument, or null to start from the caller. Returns false if the line cannot be found: no addr2line, no debug
// information, or no execinfo.h.
bool find_source_line(const void* context, char* text, std::size_t size);

}  // namespace cuda_emu
