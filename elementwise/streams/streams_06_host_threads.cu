// Problem:  steps 01 to 05 launch all jobs from one host thread, one after another, 2 to 3 us each.
// Idea:     a host thread per stream. All host threads share the device's context, so any may launch into any stream.
// Expect:   1.0x step 02: the timer holds the device until all is queued. By last_job_us 0.1 to 0.5x: starting and
//           joining 16 threads takes longer than 16 launches, and launches into one context take turns in the driver.
// Measured: 1.00x step 05, 0.02 of a copy at 2^20 (H200); 1.00x, 0.02 (H100).
// Next:     when do host threads pay?
// needs: gpu
#include "streams.cuh"

#include <exception>
#include <thread>

static void launch(const int* x, int* y, std::size_t n) {
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  std::exception_ptr failures[kJobs];
  std::vector<std::thread> threads;
  for (std::size_t job = 0; job < kJobs; ++job) {
    const cudaStream_t stream = stream_number(job);  // here, because all threads share the list of streams
    threads.emplace_back([=, &failures] {
      try {
        CUDA_CHECK(cudaSetDevice(device));  // each thread has its own current device, at first 0
        start_job(job, x, y, n, stream);
      } catch (...) {
        failures[job] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

LADDER_STEP(Streams, launch, [] { return stream_number(kJobs - 1); });
