// Host loops over many elements, spread over the machine's cores.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ladder {

// Calls body(begin, end) for consecutive pieces of [0, n) of at most `grain` elements, in any order, from several
// threads. Rethrows the first exception a body threw.
template <typename Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  const std::size_t pieces = (n + grain - 1) / grain;
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&] {
    try {
      for (std::size_t piece; (piece = next.fetch_add(1)) < pieces;) {
        body(piece * grain, std::min(n, (piece + 1) * grain));
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t threads = std::min<std::size_t>(pieces, std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace ladder
