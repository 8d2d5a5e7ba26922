// Asynchronous copies of any size and alignment, spread over the threads of a group.
#pragma once

#include "../cuda_pipeline.h"

namespace cuda_emu {

// The thread's part, as copies of 16, 8 or 4 bytes, whatever size and alignment allow; the rest is copied at once.
inline void copy_elements(void* to, const void* from, std::size_t size, std::size_t rank, std::size_t threads,
                          const Where& where) {
  char* target = static_cast<char*>(to);
  const char* source = static_cast<const char*>(from);
  const auto bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  const std::size_t unit = bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 1;
  const std::size_t whole = size / unit * unit;
  for (std::size_t at = rank * unit; at < whole; at += threads * unit) {
    if (unit >= 4) {
      __pipeline_memcpy_async(target + at, source + at, unit, 0, where.file, where.line);
    } else {
      target[at] = source[at];
    }
  }
  for (std::size_t at = whole + rank; at < size; at += threads) target[at] = source[at];
}

// All copies of the thread that are under way.
inline void finish_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace cuda_emu
