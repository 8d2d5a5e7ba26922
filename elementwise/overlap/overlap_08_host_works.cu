// Problem:  in steps 01 to 07 the host issues commands and waits, while one of its cores could compute.
// Idea:     commands return at once. The host computes 1 element of 4096 itself, then polls an event with
//           cudaEventQuery, which never waits.
// Expect:   0.95 to 1.05x step 02's share of the link: the host's share is done before the GPU's, so its time is free.
// Measured: 0.99x step 07, 0.90 of the link at 2^26 (H200); 1.00x, 0.92 (H100).
// Next:     the host has nothing to do: should it spin or sleep?
#include "overlap.cuh"

#include <chrono>

constexpr std::size_t kChunks = 8, kHostShare = 4096;

// Starts step 02 for n elements, and records an event in the default stream, which waits for all chunks.
static void launch_device(const int* x, int* y, std::size_t n) {
  int* z = scratch<int>(n);
  const std::size_t chunk = std::max<std::size_t>(ceil_div(n, kChunks), 1);
  for (std::size_t begin = 0, c = 0; begin < n; begin += chunk, ++c) {
    const std::size_t count = std::min(chunk, n - begin);
    copy_in(x + begin, z + begin, count, stream_number(c));
    work(z + begin, count, stream_number(c));
    copy_out(z + begin, y + begin, count, stream_number(c));
  }
  CUDA_CHECK(cudaEventRecord(event_number(0)));
}

static void launch(const int* x, int* y, std::size_t n) {
  const std::size_t of_host = ceil_div(n, kHostShare);
  launch_device(x, y, n - of_host);
  for (std::size_t i = n - of_host; i < n; ++i) y[i] = static_cast<int>(xorshift_rounds(static_cast<unsigned>(x[i])));
  cudaError_t status;
  while ((status = cudaEventQuery(event_number(0))) == cudaErrorNotReady) continue;  // or more work
  CUDA_CHECK(status);
}

// Returns host times: to issue all commands, of one query, and to wait for a short kernel with an event that spins and
// with one that lets the thread sleep.
static std::vector<ladder::Figure> host_times(const int* x, int* y, std::size_t n) {
  const auto us_of = [](auto run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  };
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<ladder::Figure> all = {{"issue_us", us_of([&] { launch_device(x, y, n); })},
                                     {"query_us", us_of([] { cudaEventQuery(event_number(0)); })}};
  for (const unsigned flags : {cudaEventDefault, cudaEventBlockingSync}) {
    cudaEvent_t done;
    CUDA_CHECK(cudaEventCreateWithFlags(&done, flags | cudaEventDisableTiming));
    CUDA_CHECK(cudaDeviceSynchronize());
    int* z = scratch<int>(n);
    const double us = us_of([&] {
      work(z, std::min<std::size_t>(n, 1 << 16), nullptr);
      CUDA_CHECK(cudaEventRecord(done));
      CUDA_CHECK(cudaEventSynchronize(done));
    });
    CUDA_CHECK(cudaEventDestroy(done));
    all.push_back({flags == cudaEventDefault ? "spinning_us" : "blocking_us", us});
  }
  return all;
}

LADDER_STEP(Overlap, launch, host_times);
