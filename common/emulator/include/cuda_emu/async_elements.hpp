// Asynchronous copies of any size and alignment, distributed over the threads of a group.
#pragma once

#include <type_traits>

#include "../cuda_pipeline.h"

namespace cuda_emu {

// The alignment of the pointers that a size type promises, as cuda::aligned_size_t does.
template <class Size, class = void>
constexpr std::size_t promised_alignment = 1;
template <class Size>
constexpr std::size_t promised_alignment<Size, std::void_t<decltype(Size::align)>> = Size::align;

// Copies the thread's part asynchronously, in units of 16, 8 or 4 bytes: the largest that the alignment, actual or
// promised, allows. The rest is copied at once. A broken promise is an error.
template <class Size>
inline void copy_elements(void* to, const void* from, Size bytes, std::size_t rank, std::size_t threads,
                          const Where& where) {
  const std::size_t size = bytes;
  char* target = static_cast<char*>(to);
  const char* source = static_cast<const char*>(from);
  const auto bits = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  const auto allows = [&](std::size_t n) { return bits % n == 0 || promised_alignment<Size> >= n; };
  const std::size_t unit = allows(16) ? 16 : allows(8) ? 8 : allows(4) ? 4 : 1;
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

// Waits for all asynchronous copies of the thread.
inline void finish_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

}  // namespace cuda_emu
