// Parallel loops on the host.
#pragma once
#include <cstddef>

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// The implementation of parallel_for, compiled once per program (definitions.hpp).
void parallel_pieces(std::size_t n, std::size_t grain,
                     void (*piece)(const void* body, std::size_t begin, std::size_t end), const void* body);

// Calls body(begin, end) for consecutive pieces of [0, n) with at most `grain` elements each, in any order, on several
// threads. Rethrows the first exception thrown by a body.
template <typename Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  const auto piece = [](const void* that, std::size_t begin, std::size_t end) {
    (*static_cast<const Body*>(that))(begin, end);
  };
  parallel_pieces(n, grain, piece, &body);
}

#pragma GCC visibility pop
}  // namespace ladder
