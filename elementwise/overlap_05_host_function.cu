// Step 04 tells the host nothing until all is done. Idea: a host function in the stream (a callback). Behind each
// chunk's copy home stands a function that the driver calls on the CPU when that chunk is there; whoever waits for it
// can start on the first chunk while the last has not even left. It must be short, for its stream waits for it, and
// must not call CUDA. Here it notes the time.
// Expect: the time of step 04 and some microseconds for each call; but the first result after a tenth of it.
// Next question: and if the host's work on a chunk is long? (Then the function only wakes a thread that does it.)
#include "overlap.cuh"

#include <array>
#include <chrono>

constexpr std::size_t kChunks = 16, kBuffers = 3;

using Clock = std::chrono::steady_clock;
static std::array<Clock::time_point, kChunks> at_home;

static void note_time(void* arrival) { *static_cast<Clock::time_point*>(arrival) = Clock::now(); }

static void launch(const int* x, int* y, std::size_t n) {
  const std::size_t chunk = ceil_div(n, kChunks);
  int* z = scratch<int>(kBuffers * chunk);
  const cudaStream_t in = stream_number(0), working = stream_number(1), out = stream_number(2);
  for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
    const std::size_t count = std::min(chunk, n - begin), b = c % kBuffers;
    int* buffer = z + b * chunk;
    const cudaEvent_t here = event_number(3 * b), done = event_number(3 * b + 1), free = event_number(3 * b + 2);

    if (c >= kBuffers) CUDA_CHECK(cudaStreamWaitEvent(in, free));
    copy_in(x + begin, buffer, count, in);
    CUDA_CHECK(cudaEventRecord(here, in));

    CUDA_CHECK(cudaStreamWaitEvent(working, here));
    work(buffer, count, working);
    CUDA_CHECK(cudaEventRecord(done, working));

    CUDA_CHECK(cudaStreamWaitEvent(out, done));
    copy_out(buffer, y + begin, count, out);
    CUDA_CHECK(cudaEventRecord(free, out));
    CUDA_CHECK(cudaLaunchHostFunc(out, note_time, &at_home[c]));
  }
}

// When the first and the last chunk were at home, from the first order on.
static std::vector<ladder::Figure> arrivals(const int* x, int* y, std::size_t n) {
  const std::size_t last = ceil_div(n, ceil_div(n, kChunks)) - 1;
  CUDA_CHECK(cudaDeviceSynchronize());
  const Clock::time_point start = Clock::now();
  launch(x, y, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  const auto us = [&](std::size_t c) { return std::chrono::duration<double, std::micro>(at_home[c] - start).count(); };
  return {{"first_chunk_us", us(0)}, {"last_chunk_us", us(last)}};
}

LADDER_STEP(Overlap, launch, arrivals);
