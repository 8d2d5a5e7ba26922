// Problem:  the default stream of step 03 and its blocking streams hold each other up.
// Idea:     non-blocking streams. Now nothing orders them against the default stream, so events must: a fork, at which
//           all streams wait for what was there before, and a join, at which the default stream waits for all of them.
// Expect:   1.5 to 2x step 03 at 2^16: the eight jobs in the default stream are still one after the other, and the
//           other eight run beside them. The events cost some microseconds.
// Measured: 1.25x step 03, 0.03 of a copy at 2^20 (H200).
// Why:      2.11x at 2^16 (H200): what step 03 pays for changing between streams is saved besides.
// Next:     what goes wrong without the join? (The caller reads results that are not there, now and then.)
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
