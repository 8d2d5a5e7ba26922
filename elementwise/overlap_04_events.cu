// Steps 02 and 03 keep all of the data on the device, and need a stream for each chunk. Idea: a stream for each engine,
// and events between them. A chunk goes from stream to stream; three buffers serve for any number of chunks, so data
// larger than the device's memory pass too. Each stream waits for two things: that the chunk is ready, and that the
// buffer is free, which is the one that gets forgotten.
// Expect: the time of step 02 or a little less, as more and smaller chunks are possible, with a fraction of the memory.
// Next question: what does cudaStreamWaitEvent wait for, if the event was recorded twice? (For the record that was last
// when the wait was ordered; later ones do not count. An event never recorded counts as done.)
#include "overlap.cuh"

constexpr std::size_t kChunks = 16, kBuffers = 3;

static void launch(const int* x, int* y, std::size_t n) {
  const std::size_t chunk = ceil_div(n, kChunks);
  int* z = scratch<int>(kBuffers * chunk);
  const cudaStream_t in = stream_number(0), working = stream_number(1), out = stream_number(2);
  for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
    const std::size_t count = std::min(chunk, n - begin), b = c % kBuffers;
    int* buffer = z + b * chunk;
    const cudaEvent_t here = event_number(3 * b), done = event_number(3 * b + 1), free = event_number(3 * b + 2);

    if (c >= kBuffers) CUDA_CHECK(cudaStreamWaitEvent(in, free));  // the chunk before in this buffer has gone home
    copy_in(x + begin, buffer, count, in);
    CUDA_CHECK(cudaEventRecord(here, in));

    CUDA_CHECK(cudaStreamWaitEvent(working, here));
    work(buffer, count, working);
    CUDA_CHECK(cudaEventRecord(done, working));

    CUDA_CHECK(cudaStreamWaitEvent(out, done));
    copy_out(buffer, y + begin, count, out);
    CUDA_CHECK(cudaEventRecord(free, out));
  }
}

LADDER_STEP(Overlap, launch);
