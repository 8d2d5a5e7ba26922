// Problem:  in step 04 the host learns nothing until all chunks are done.
// Idea:     a host function after each chunk's copy out, called by the driver on a CPU thread. It must be short, since
//           its stream waits, and must not call CUDA. Here it records the time.
// Expect:   0.97 to 1.0x step 04, with a few microseconds per call. The first chunk arrives after a tenth of the time.
// Measured: 0.83x step 04, 0.78 of the link at 2^26 (H200); 0.87x, 0.86 (H100).
// Why:      33 to 55 us per call (H100), 48 to 300 us (two machines with an H200): the stream waits for a CPU thread.
//           The first chunk arrives after a seventh of the time (H100).
// Next:     what if the host's work on a chunk takes long?
#include "overlap.cuh"

#include <array>
#include <chrono>

constexpr std::size_t kChunks = 16, kBuffers = 3;

using Clock = std::chrono::steady_clock;
static std::array<Clock::time_point, kChunks> arrived;

static void note_time(void* time) { *static_cast<Clock::time_point*>(time) = Clock::now(); }

static void launch(const int* x, int* y, std::size_t n) {
  const std::size_t chunk = ceil_div(n, kChunks);
  int* z = scratch<int>(kBuffers * chunk);
  const cudaStream_t in = stream_number(0), compute = stream_number(1), out = stream_number(2);
  for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
    const std::size_t count = std::min(chunk, n - begin), b = c % kBuffers;
    int* buffer = z + b * chunk;
    const cudaEvent_t copied_in = event_number(3 * b), computed = event_number(3 * b + 1),
                      copied_out = event_number(3 * b + 2);

    if (c >= kBuffers) CUDA_CHECK(cudaStreamWaitEvent(in, copied_out));
    copy_in(x + begin, buffer, count, in);
    CUDA_CHECK(cudaEventRecord(copied_in, in));

    CUDA_CHECK(cudaStreamWaitEvent(compute, copied_in));
    work(buffer, count, compute);
    CUDA_CHECK(cudaEventRecord(computed, compute));

    CUDA_CHECK(cudaStreamWaitEvent(out, computed));
    copy_out(buffer, y + begin, count, out);
    CUDA_CHECK(cudaEventRecord(copied_out, out));
    CUDA_CHECK(cudaLaunchHostFunc(out, note_time, &arrived[c]));
  }
}

// Returns when the first and the last chunk arrived in host memory, counted from the first command.
static std::vector<ladder::Figure> arrivals(const int* x, int* y, std::size_t n) {
  const std::size_t last = ceil_div(n, ceil_div(n, kChunks)) - 1;
  CUDA_CHECK(cudaDeviceSynchronize());
  const Clock::time_point start = Clock::now();
  launch(x, y, n);
  CUDA_CHECK(cudaDeviceSynchronize());
  const auto us = [&](std::size_t c) { return std::chrono::duration<double, std::micro>(arrived[c] - start).count(); };
  return {{"first_chunk_us", us(0)}, {"last_chunk_us", us(last)}};
}

LADDER_STEP(Overlap, launch, arrivals);
