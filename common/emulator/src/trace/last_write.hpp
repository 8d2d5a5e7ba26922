// Records the last write of a kernel, traced or not, to the bytes given to trace::watch_last_write.
#pragma once

#include <cstddef>

namespace cuda_emu::trace {

struct Watched {
  const char* begin = nullptr;
  const char* end = nullptr;
};
inline Watched watched;  // changes only while no kernel runs

void record_write(const void* return_address);

inline void see_write(const void* memory, std::size_t size, const void* return_address) {
  const char* first = static_cast<const char*>(memory);
  if (first < watched.end && watched.begin < first + size) record_write(return_address);
}

}  // namespace cuda_emu::trace
