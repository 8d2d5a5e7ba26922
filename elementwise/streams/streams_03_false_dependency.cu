// Problem:  every second job is started by a library that takes no stream and uses the default stream.
// Idea:     none yet. The legacy default stream and blocking streams wait for each other, so each job waits.
// Expect:   the time of step 01, because the gain of step 02 is lost: 0.77 to 1.0x step 02 at 2^20.
// Measured: 0.71x step 02, 0.01 of a copy at 2^20 (H200); 0.70x, 0.02 (H100).
// Why:      0.91x step 01 at 2^16, 0.93x at 2^20 (H200): changing between streams costs 1.7 us per job.
// Next:     how do you get the gain back?
#include "streams.cuh"

static void launch(const int* x, int* y, std::size_t n) {
  for (std::size_t job = 0; job < kJobs; ++job) start_job(job, x, y, n, job % 2 == 0 ? stream_number(job) : nullptr);
}

LADDER_STEP(Streams, launch, default_stream);
