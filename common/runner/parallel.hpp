// Host loops over many elements, spread over the machine's cores.
#pragma once
#include <cstddef>

namespace ladder {
#pragma GCC visibility push(default)  // shared: cmake/private_symbols.sh

// What parallel_for does, compiled once for each program (definitions.hpp).
void parallel_pieces(std::size_t n, std::size_t grain,
                     void (*piece)(const void* body, std::size_t begin, std::size_t end), const void* body);

// Calls body(begin, end) for consecutive pieces of [0, n) of at most `grain` elements, in any order, from several
// threads. Rethrows the first exception a body threw.
template <typename Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  const auto piece = [](const void* that, std::size_t begin, std::size_t end) {
    (*static_cast<const Body*>(that))(begin, end);
  };
  parallel_pieces(n, grain, piece, &body);
}

#pragma GCC visibility pop
}  // namespace ladder
