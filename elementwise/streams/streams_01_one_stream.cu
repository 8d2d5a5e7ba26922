// Problem:  16 independent kernels, each with too few blocks for the GPU.
// Idea:     all of them in the default stream: each waits for the one before.
// Expect:   16 times the time of one job, which takes about 15 us: 1024 rounds of six dependent instructions.
// Measured: 0.02 of a copy at 2^20 (H200); 0.02 (H100).
// Next:     what lets kernels run at the same time?
#include "streams.cuh"

static void launch(const int* x, int* y, std::size_t n) {
  for (std::size_t job = 0; job < kJobs; ++job) start_job(job, x, y, n, nullptr);
}

LADDER_STEP(Streams, launch, default_stream);
