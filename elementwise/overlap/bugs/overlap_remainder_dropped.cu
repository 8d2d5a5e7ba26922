// bug: the chunks have n / 8 elements each; the last n % 8 are in no chunk
// caught by: cpu forward | was never written
// caught by: gpu | was never written
// stage: right
#include "../overlap.cuh"

constexpr std::size_t kChunks = 8;

static void launch(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  const std::size_t chunk = n / kChunks;  // round up; the last chunk is shorter
  if (chunk == 0) return;
  for (std::size_t c = 0; c < kChunks; ++c) {
    copy_in(x + c * chunk, z + c * chunk, chunk, stream_number(c));
    work(z + c * chunk, chunk, stream_number(c));
    copy_out(z + c * chunk, y + c * chunk, chunk, stream_number(c));
  }
}

LADDER_STEP(Overlap, launch);
