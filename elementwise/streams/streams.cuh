// 16 independent jobs, run at once in streams.
// y[i] = 1024 rounds of a 32-bit xorshift on x[i], for n integers in device memory. A job is a kernel for a sixteenth
// of them, too small to fill the GPU. Streams decide how many run at the same time. Exact: bit-equal.
// practice: medium, next overlap
#pragma once
#include "../integers.cuh"
#include "../stream_handles.cuh"
#include "../xorshift.cuh"

#include <algorithm>

constexpr std::size_t kJobs = 16;

__host__ __device__ inline unsigned long_mix(unsigned v) {
  for (int repeat = 0; repeat < 8; ++repeat) v = xorshift_rounds(v);
  return v;
}

class Streams : public Integers {
 public:
  // It may return early, but cudaDeviceSynchronize and the default stream must wait for the result, and the jobs must
  // wait for earlier work in the default stream.
  using Integers::Launch;
  // Returns the stream of the last job. Called after a launch.
  using Last = cudaStream_t (*)();

  explicit Streams(Launch launch, Last last = nullptr) : Integers(launch), launch_(launch), last_(last) {}

  const char* kernel() const override { return "streams"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 16, (1 << 11) + 13, std::size_t{1} << 32}};
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = static_cast<int>(long_mix(static_cast<unsigned>(host.at<const int>(0)[i])));
      scale[i - range.begin] = 0;
    }
  }
  // Fewer elements than jobs, remainders, several blocks per job.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0}, {1}, {2}, {15}, {16}, {17}, {31}, {33}, {257}, {1025}, {16 * 300 + 3}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 16}, {std::size_t{1} << 20}}; }

  // Returns the time from the first launch to the end of the job launched last.
  std::vector<ladder::Figure> figures(const ladder::Arrays& device, const ladder::Size& size) const override;

 private:
  Launch launch_;
  Last last_;
};

// ---- Shared by the steps

static __global__ void streams_work(const int* __restrict__ x, int* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<int>(long_mix(static_cast<unsigned>(x[i])));
}

// Launches job number `job` of kJobs into a stream. With few elements the last jobs are empty.
static inline void start_job(std::size_t job, const int* x, int* y, std::size_t n, cudaStream_t stream) {
  const std::size_t share = ceil_div(n, kJobs), begin = job * share;
  if (begin >= n) return;
  const std::size_t count = std::min(share, n - begin);
  streams_work<<<ceil_div(count, 256), 256, 0, stream>>>(x + begin, y + begin, count);
  CUDA_CHECK(cudaGetLastError());
}

// Creates a non-blocking stream: it and the default stream do not wait for each other.
inline cudaError_t create_non_blocking(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
}
static inline cudaStream_t non_blocking_stream(std::size_t i) {
  static Handles<cudaStream_t, create_non_blocking, destroy_stream> streams;
  return streams[i];
}

static inline cudaStream_t default_stream() { return nullptr; }

inline std::vector<ladder::Figure> Streams::figures(const ladder::Arrays& device, const ladder::Size& size) const {
  if (!last_ || size[0] < kJobs) return {};
  constexpr int samples = 9;
  std::vector<double> us;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  for (int i = 0; i < samples; ++i) {
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaEventRecord(start));
    launch_(device.at<const int>(0), device.at<int>(1), size[0]);
    CUDA_CHECK(cudaEventRecord(stop, last_()));
    CUDA_CHECK(cudaDeviceSynchronize());
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
    us.push_back(1e3 * ms);
  }
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  std::sort(us.begin(), us.end());
  return {{"last_job_us", us[us.size() / 2]}};
}
