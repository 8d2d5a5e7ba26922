// Step 01 uses one engine at a time. Idea: cut the data into chunks, and give each a stream of its own. Within a stream
// the order holds, between streams there is none: while chunk 1 is worked on, chunk 2 comes in and chunk 0 goes home.
// Depth first: all three orders for a chunk, then the next chunk.
// Expect: near the longest of the three times, and a chunk or two more to fill and drain the pipeline. The memory must
// be pinned; copies of pageable memory would wait for each other in the driver.
// Next question: how many chunks? (More make the ends shorter, until each order's own cost, some microseconds, shows.)
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
