// Problem:  with one copy engine, chunk 0's copy out, waiting for its kernel, would hold up chunk 1's copy in.
// Idea:     breadth first: all copies in, then all kernels, then all copies out, in the same streams.
// Expect:   1.0x step 02 on a GPU with two copy engines and a queue per stream (Hyper-Q, since Kepler).
// Measured: 1.00x step 02, 0.87 of the link at 2^26 (H200); 0.99x, 0.92 (H100).
// Next:     what still serialises streams?
#include "overlap.cuh"

constexpr std::size_t kChunks = 8;

static void launch(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  const std::size_t chunk = ceil_div(n, kChunks);
  const auto for_each_chunk = [&](auto command) {
    for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
      command(begin, std::min(chunk, n - begin), stream_number(c));
    }
  };
  for_each_chunk(
      [&](std::size_t begin, std::size_t count, cudaStream_t s) { copy_in(x + begin, z + begin, count, s); });
  for_each_chunk([&](std::size_t begin, std::size_t count, cudaStream_t s) { work(z + begin, count, s); });
  for_each_chunk(
      [&](std::size_t begin, std::size_t count, cudaStream_t s) { copy_out(z + begin, y + begin, count, s); });
}

LADDER_STEP(Overlap, launch);
