// Which line of a .cu file a signal interrupted, or runs.
#pragma once

#include <cstddef>

namespace cuda_emu {

// Call it once before a signal can come.
void prepare_source_lines();

// Writes "file.cu:12" of the innermost function in a .cu or .cuh file; `context` is what the signal handler got; null
// outside of one: the function from where this was called. False where that cannot be found out: no addr2line, no debug information, no execinfo.h.
bool find_source_line(const void* context, char* text, std::size_t size);

}  // namespace cuda_emu
