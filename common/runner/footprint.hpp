// Computes the device memory that a run needs, and the array sizes of a ceiling kernel.
#pragma once
#include "check.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace ladder {

// Returns the bytes moved if each element of the buffers is read or written once.
inline double footprint(const Problem& problem, const Size& size) { return problem.Problem::bytes(size); }

// A ceiling kernel moves bytes(size) in total, on arrays no larger than the problem's footprint. If a problem moves
// more bytes, as many time steps over one domain do, the ceiling kernel is launched several times.
struct CeilingPlan {
  std::size_t launches, bytes_each;
};

inline CeilingPlan plan_ceiling(const Problem& problem, const Size& size) {
  const double bytes = problem.bytes(size);
  const double launches = std::max(1.0, std::ceil(bytes / std::max(footprint(problem, size), 1.0)));
  return {static_cast<std::size_t>(launches), static_cast<std::size_t>(bytes / launches)};
}

// Returns the bytes needed for the buffers, the step's scratch memory, and the ceiling's arrays (on a GPU) or the
// host's copies (on the CPU backend). `slack` is what a step may need at any size.
inline double memory_needed(const Problem& problem, const Size& size, bool gpu) {
  constexpr double slack = 1 << 20;
  double buffers = 0;
  for (const Buffer& b : problem.buffers(size)) buffers += static_cast<double>(b.bytes());
  const double ceiling = static_cast<double>(plan_ceiling(problem, size).bytes_each);
  return buffers + (gpu ? ceiling : buffers) + problem.scratch_bytes(size) + slack;
}

// Parses "8G", "512M", "1.5G" or "4096" to bytes; K, M, G are powers of 1024. Throws UsageError for anything else.
inline double parse_memory(const std::string& text) {
  constexpr double factors[] = {1, 1024, 1024 * 1024, 1024 * 1024 * 1024};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end, units = "KMG";
  const std::size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (end == text.c_str() || !(value > 0) || !std::isfinite(value) ||
      (!unit.empty() && (power == 0 || unit.size() > 1)))
    throw UsageError("LADDER_MEMORY: '" + text + "' is not a size such as 8G or 512M");
  return value * factors[power];
}

// Returns the limit set by LADDER_MEMORY, or infinity.
inline double memory_limit() {
  const char* limit = std::getenv("LADDER_MEMORY");
  return limit ? parse_memory(limit) : INFINITY;
}

// Throws UsageError unless `bytes` more fit into free device memory and the limit of LADDER_MEMORY.
inline void require_free(const Problem& problem, const Size& size, double bytes) {
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const double usable = std::min(static_cast<double>(free), memory_limit());
  if (bytes <= usable) return;
  throw UsageError(describe(problem, size) + ": needs " + format("%.1f", bytes / 1e9) +
                   " GB of memory, the device has " + format("%.1f", usable / 1e9) + " GB free");
}

}  // namespace ladder
