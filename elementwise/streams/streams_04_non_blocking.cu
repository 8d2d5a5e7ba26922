// Problem:  the default stream of step 03 and its blocking streams hold each other up.
// Idea:     non-blocking streams. Nothing orders them against the default stream now, so events must: a fork (all wait
//           for earlier work) and a join (the default stream waits for all).
// Expect:   1.5 to 2x step 03 at 2^16, less at 2^20: eight jobs follow each other, the other eight run beside them.
// Measured: 1.25x step 03, 0.02 of a copy at 2^20 (H200); 1.25x, 0.02 (H100).
// Why:      2.11x at 2^16 (H200): step 03's cost of changing between streams is saved too.
// Next:     what goes wrong without the join?
#include "streams.cuh"

static void launch(const int* x, int* y, std::size_t n) {
  CUDA_CHECK(cudaEventRecord(event_number(kJobs), nullptr));
  for (std::size_t job = 0; job < kJobs; job += 2) {
    CUDA_CHECK(cudaStreamWaitEvent(non_blocking_stream(job), event_number(kJobs)));  // fork
  }
  for (std::size_t job = 0; job < kJobs; ++job) {
    start_job(job, x, y, n, job % 2 == 0 ? non_blocking_stream(job) : nullptr);
  }
  for (std::size_t job = 0; job < kJobs; job += 2) {
    CUDA_CHECK(cudaEventRecord(event_number(job), non_blocking_stream(job)));
    CUDA_CHECK(cudaStreamWaitEvent(nullptr, event_number(job)));  // join
  }
}

LADDER_STEP(Streams, launch, default_stream);
