// Step 02 gives its orders chunk by chunk. Idea: breadth first, all copies in, then all kernels, then all copies home, in
// the same streams. It mattered when a GPU had one queue for all streams (Fermi): there the copy home of chunk 0 stood in
// the queue before the kernel of chunk 1, and nothing behind it could start.
// Expect: no change, on any GPU with a queue per stream (since Kepler's Hyper-Q).
// Next question: what still serialises streams today? (The legacy default stream; cudaMalloc and cudaFree; pageable memory;
// and a copy engine, which does one copy per direction at a time.)
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
