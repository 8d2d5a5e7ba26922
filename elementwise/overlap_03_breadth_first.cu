// Step 02 gives its orders chunk by chunk. Idea: breadth first, all copies in, then all kernels, then all copies home,
// in the same streams. It matters where orders of several streams share a queue. With a single copy engine, depth first
// puts the copy home of chunk 0, which waits for its kernel, before the copy in of chunk 1: nothing overlaps, and
// breadth first does. On other old GPUs it was the other way round.
// Expect: no change on a GPU with two copy engines and a queue per stream (Hyper-Q, since Kepler).
// Next question: what still serialises streams today? (The legacy default stream; cudaMalloc and cudaFree; pageable
// memory; and a copy engine, which does one copy per direction at a time.)
#include "overlap.cuh"

constexpr std::size_t kChunks = 8;

static void launch(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  const std::size_t chunk = ceil_div(n, kChunks);
  const auto for_chunks = [&](auto order) {
    for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
      order(begin, std::min(chunk, n - begin), stream_number(c));
    }
  };
  for_chunks([&](std::size_t begin, std::size_t count, cudaStream_t s) { copy_in(x + begin, z + begin, count, s); });
  for_chunks([&](std::size_t begin, std::size_t count, cudaStream_t s) { work(z + begin, count, s); });
  for_chunks([&](std::size_t begin, std::size_t count, cudaStream_t s) { copy_out(z + begin, y + begin, count, s); });
}

LADDER_STEP(Overlap, launch);
