// Problem:  in step 01 kernels wait for each other only because of their order in the stream.
// Idea:     a stream per job. cudaStreamCreate makes blocking streams: a job starts after earlier work in the default
//           stream, and later work in the default stream waits for all jobs.
// Expect:   3 to 6x step 01 at 2^16: 16 launches of 2 to 3 us remain. At 2^20 four jobs fill the GPU: 1.0 to 1.3x.
// Measured: 1.32x step 01, 0.02 of a copy at 2^20 (H200); 1.33x, 0.02 (H100).
// Next:     what if a library in between takes no stream, and launches into the default one?
#include "streams.cuh"

static void launch(const int* x, int* y, std::size_t n) {
  for (std::size_t job = 0; job < kJobs; ++job) start_job(job, x, y, n, stream_number(job));
}

LADDER_STEP(Streams, launch, [] { return stream_number(kJobs - 1); });
