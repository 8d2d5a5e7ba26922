// y = 2 x for n floats in host memory. A step chooses the kind of memory and how the data travel. Exact: bit-equal.
#pragma once
#include "../elementwise.cuh"
#include "../host_link.cuh"
#include "../host_timing.cuh"

class Transfer : public Elementwise {
 public:
  // Host-to-device: n floats from the host's x to the device's z.
  using In = void (*)(const float* x, float* z, std::size_t n);
  // Device-to-host: n floats from the device's z to the host's y. y is complete after cudaDeviceSynchronize.
  using Out = void (*)(const float* z, float* y, std::size_t n);
  // The whole run from x to y, for steps that don't use z; else null.
  using Whole = void (*)(const float* x, float* y, std::size_t n);
  // Allocates z (n floats) in each run, and releases it.
  using Allocate = float* (*)(std::size_t n);
  using Release = void (*)(float* z);

  Transfer(ladder::Place place, In in, Out out, Whole whole = nullptr, Allocate allocate = scratch<float>,
           Release release = nullptr)
      : place_(place), in_(in), out_(out), whole_(whole), allocate_(allocate), release_(release) {}

  const char* kernel() const override { return "memory"; }
  std::vector<ladder::Dim> dims() const override {  // managed memory stays below 1 GB
    return {{"n", std::size_t{1} << 26, (1 << 17) + 13, std::size_t{1} << 26}};
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    return {ladder::input<float>("x", size[0]), ladder::output<float>("y", size[0])};
  }
  ladder::Place place() const override { return place_; }
  void run(const ladder::Arrays& host, const ladder::Size& size) const override;
  // Moves managed pages back to the host, because they stay where they were used last.
  void prepare(const ladder::Arrays& host, const ladder::Size& size) const override;
  void expect(const ladder::Arrays& host, const ladder::Size&, const ladder::Range& range, double* want,
              double* scale) const override {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const float x = host.at<const float>(0)[i];
      want[i - range.begin] = x + x;
      scale[i - range.begin] = 0;
    }
  }
  std::vector<ladder::Size> test_sizes() const override {
    return {{0}, {1}, {2}, {31}, {33}, {1023}, {1025}, {65537}, {(1 << 18) + 13}};
  }
  std::vector<ladder::Size> huge_sizes() const override { return {}; }
  std::vector<ladder::Size> bench_sizes() const override { return {{std::size_t{1} << 20}, {std::size_t{1} << 26}}; }
  double scratch_bytes(const ladder::Size& size) const override { return sizeof(float) * static_cast<double>(size[0]); }
  const char* ceiling_name() const override { return "link"; }
  std::unique_ptr<ladder::OwnCeiling> own_ceiling(const ladder::Size& size) const override {
    return std::make_unique<HostLink>(bytes(size));
  }

  // Returns GB/s in each direction alone. If a run allocates z, also the time of that and of cudaMalloc and cudaFree.
  std::vector<ladder::Figure> figures(const ladder::Arrays& host, const ladder::Size& size) const override;

 private:
  ladder::Place place_;
  In in_;
  Out out_;
  Whole whole_;
  Allocate allocate_;
  Release release_;
};

// ---- Shared by the steps

static __global__ void memory_double(float* z, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) z[i] *= 2.0f;
}

inline void Transfer::run(const ladder::Arrays& host, const ladder::Size& size) const {
  const std::size_t n = size[0];
  if (n == 0) return;
  const float* x = host.at<const float>(0);
  float* y = host.at<float>(1);
  if (whole_) return whole_(x, y, n);
  float* z = allocate_(n);
  in_(x, z, n);
  memory_double<<<ceil_div(n, 256), 256>>>(z, n);
  CUDA_CHECK(cudaGetLastError());
  out_(z, y, n);
  if (release_) release_(z);
}

// Reads every page on the host, so that managed pages move back.
inline void touch_pages(const float* data, std::size_t n) {
  constexpr std::size_t page = 4096 / sizeof(float);
  for (std::size_t i = 0; i < n; i += page) *const_cast<const volatile float*>(data + i);
  if (n > 0) *const_cast<const volatile float*>(data + n - 1);
}

inline void Transfer::prepare(const ladder::Arrays& host, const ladder::Size& size) const {
  if (place_ != ladder::Place::managed) return;
  touch_pages(host.at<const float>(0), size[0]);
  touch_pages(host.at<float>(1), size[0]);
}

inline std::vector<ladder::Figure> Transfer::figures(const ladder::Arrays& host, const ladder::Size& size) const {
  const std::size_t n = size[0];
  if (n == 0) return {};
  const float* x = host.at<const float>(0);
  float* y = host.at<float>(1);
  float* z = scratch<float>(n);
  const double in = median_us([&] { touch_pages(x, n); }, [&] { in_(x, z, n); });
  const double out = median_us([&] { touch_pages(y, n); }, [&] { out_(z, y, n); });
  const double kilobytes = 4e-3 * static_cast<double>(n);
  std::vector<ladder::Figure> all = {{"in_gbps", kilobytes / in}, {"out_gbps", kilobytes / out}};
  if (!release_) return all;
  all.push_back({"allocate_us", median_us([] {}, [&] { release_(allocate_(n)); })});
  all.push_back({"cuda_malloc_us", median_us([] {}, [&] { DeviceBuffer<float> buffer(n); })});
  return all;
}
