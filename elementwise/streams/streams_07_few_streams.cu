// Problem:  step 02 has as many streams as jobs. With thousands of jobs that would be thousands of streams.
// Idea:     a few streams, which jobs take in turn: job j goes into stream j % 4. The figures streams_1_us to
//           streams_32_us are of 32 jobs in 1, 2, 4, 8, 16 and 32 streams.
// Expect:   0.95 to 1.05x step 02 at 2^20, where four jobs fill the GPU; 0.5 to 0.8x at 2^16, where four jobs of 17 us
//           follow each other in each stream.
// Measured: 1.01x step 06, 0.02 of a copy at 2^20 (H200); 1.01x, 0.02 (H100).
// Next:     what happens beyond CUDA_DEVICE_MAX_CONNECTIONS streams?
#include "../host_timing.cuh"
#include "streams.cuh"

constexpr std::size_t kStreams = 4;

static void launch(const int* x, int* y, std::size_t n) {
  for (std::size_t job = 0; job < kJobs; ++job) start_job(job, x, y, n, stream_number(job % kStreams));
}

// Launches 32 jobs in `streams` streams.
static void sweep(const int* x, int* y, std::size_t n, std::size_t streams) {
  constexpr std::size_t jobs = 32;
  const std::size_t share = ceil_div(n, jobs);
  for (std::size_t begin = 0, job = 0; begin < n; begin += share, ++job) {
    const std::size_t count = std::min(share, n - begin);
    streams_work<<<ceil_div(count, 256), 256, 0, stream_number(job % streams)>>>(x + begin, y + begin, count);
    CUDA_CHECK(cudaGetLastError());
  }
}

class FewStreams : public Streams {
 public:
  FewStreams() : Streams(launch, [] { return stream_number(kStreams - 1); }) {}
  std::vector<ladder::Figure> figures(const ladder::Arrays& device, const ladder::Size& size) const override {
    std::vector<ladder::Figure> all = Streams::figures(device, size);
    static constexpr const char* names[] = {"streams_1_us", "streams_2_us",  "streams_4_us",
                                            "streams_8_us", "streams_16_us", "streams_32_us"};
    const int* x = device.at<const int>(0);
    int* y = device.at<int>(1);
    for (std::size_t i = 0; i < 6; ++i) {
      all.push_back({names[i], median_us([] {}, [&] { sweep(x, y, size[0], std::size_t{1} << i); })});
    }
    return all;
  }
};

LADDER_STEP(FewStreams);
