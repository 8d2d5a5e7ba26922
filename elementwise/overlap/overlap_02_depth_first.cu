// Problem:  step 01 uses one engine at a time.
// Idea:     eight chunks, a stream each: chunk 1 is computed while chunk 2 comes in and chunk 0 goes out. Depth first:
//           all three commands of a chunk, then the next chunk.
// Expect:   2.05x step 01 at 2^26 (H100): the longest of the three times, and an eighth of the others to fill and
//           drain. Memory must be pinned, or the copies wait for each other.
// Measured: 1.90x step 01, 0.87 of the link at 2^26 (H200); 1.86x, 0.93 (H100).
// Why:      the link is slower in both directions at once: 5.9 ms for the copies alone, one direction 4.9 (H100).
// Next:     how many chunks?
#include "overlap.cuh"

constexpr std::size_t kChunks = 8;

static void launch(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  const std::size_t chunk = ceil_div(n, kChunks);
  for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
    const std::size_t count = std::min(chunk, n - begin);  // the last one may be shorter
    copy_in(x + begin, z + begin, count, stream_number(c));
    work(z + begin, count, stream_number(c));
    copy_out(z + begin, y + begin, count, stream_number(c));
  }
}

LADDER_STEP(Overlap, launch);
