// Copies and a kernel that run at the same time.
// y[i] = 128 rounds of a 32-bit xorshift on x[i], for n integers in pinned host memory: copy in (host-to-device),
// compute, copy out (device-to-host). The kernel takes nearly half as long as a copy over PCIe. Exact: bit-equal.
// practice: medium, next scan
#pragma once
#include "../elementwise.cuh"
#include "../host_link.cuh"
#include "../host_timing.cuh"
#include "../stream_handles.cuh"
#include "../xorshift.cuh"

class Overlap : public Elementwise {
 public:
  // x and y hold n integers each in pinned host memory and do not overlap. n = 0 does nothing. It may return early, but
  // cudaDeviceSynchronize and the default stream must wait for the result. The caller waits before the next call.
  using Launch = void (*)(const int* x, int* y, std::size_t n);
  // Returns a step's additional figures.
  using Extra = std::vector<ladder::Figure> (*)(const int* x, int* y, std::size_t n);

  explicit Overlap(Launch launch, Extra extra = nullptr) : launch_(launch), extra_(extra) {}

  const char* kernel() const override { return "overlap"; }
  std::vector<ladder::Dim> dims() const override {
    return {{"n", std::size_t{1} << 26, (1 << 15) + 13, std::size_t{1} << 32}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<int>("x", size[0]), ladder::output<int>("y", size[0])};
  }
  ladder::Place place() const override { return ladder::Place::pinned; }
  void run(const ladder::Arrays& host, const ladder::Size& size) const override {
    if (size[0] > 0) launch_(host.at<const int>(0), host.at<int>(1), size[0]);
  }
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      want[i - range.begin] = static_cast<int>(xorshift_rounds(static_cast<unsigned>(host.at<const int>(0)[i])));
      scale[i - range.begin] = 0;
    }
  }
  std::vector<ladder::Pattern> patterns() const override { return {{"random", true, any_integer}}; }
  // Fewer elements than chunks, remainders, several blocks per chunk.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0}, {1}, {2}, {7}, {8}, {9}, {17}, {31}, {33}, {257}, {1023}, {1025}, {4099}, {(1 << 15) + 13}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 20}, {std::size_t{1} << 26}}; }
  double scratch_bytes(const ladder::Size& size) const override { return sizeof(int) * static_cast<double>(size[0]); }
  const char* ceiling_name() const override { return "link"; }
  std::unique_ptr<ladder::OwnCeiling> own_ceiling(const ladder::Size& size) const override {
    return std::make_unique<HostLink>(bytes(size));
  }

  // Returns the times of copy in, compute and copy out alone, each in one piece.
  std::vector<ladder::Figure> figures(const ladder::Arrays& host, const ladder::Size& size) const override;

 private:
  static double any_integer(std::uint64_t seed, std::size_t buffer, std::size_t i, std::size_t) {
    return static_cast<std::int32_t>(ladder::hash(seed, buffer, i) >> 32);
  }

  Launch launch_;
  Extra extra_;
};

// ---- Shared by the steps

static __global__ void overlap_work(int* z, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) z[i] = static_cast<int>(xorshift_rounds(static_cast<unsigned>(z[i])));
}

// Enqueue one of the three parts in a stream. n must not be 0.
inline void copy_in(const int* x, int* z, std::size_t n, cudaStream_t stream) {
  CUDA_CHECK(cudaMemcpyAsync(z, x, n * sizeof(int), cudaMemcpyHostToDevice, stream));
}
inline void work(int* z, std::size_t n, cudaStream_t stream) {
  overlap_work<<<ceil_div(n, 256), 256, 0, stream>>>(z, n);
  CUDA_CHECK(cudaGetLastError());
}
inline void copy_out(const int* z, int* y, std::size_t n, cudaStream_t stream) {
  CUDA_CHECK(cudaMemcpyAsync(y, z, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
}

inline std::vector<ladder::Figure> Overlap::figures(const ladder::Arrays& host, const ladder::Size& size) const {
  const std::size_t n = size[0];
  if (n == 0) return {};
  const int* x = host.at<const int>(0);
  int *y = host.at<int>(1), *z = scratch<int>(n);
  std::vector<ladder::Figure> all = {{"in_us", median_us([] {}, [&] { copy_in(x, z, n, nullptr); })},
                                     {"work_us", median_us([] {}, [&] { work(z, n, nullptr); })},
                                     {"out_us", median_us([] {}, [&] { copy_out(z, y, n, nullptr); })}};
  if (!extra_) return all;
  for (const ladder::Figure& figure : extra_(x, y, n)) all.push_back(figure);
  return all;
}
