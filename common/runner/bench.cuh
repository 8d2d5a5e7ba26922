// Timing on a GPU, after the method of NVIDIA's nvbench: CUDA events around one launch, L2 flushed before each (cold),
// and back-to-back (warm); median and spread; contestants take turns, so that clocks and neighbours hit all alike.
#pragma once
#include "cuda_helpers.cuh"
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ladder {

struct Device {
  std::string name;
  int sms = 0;
  std::size_t l2_bytes = 0;
  double dram_gbps = 0;  // theoretical peak
};

inline int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
  return value;
}

inline Device device() {
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  Device d;
  d.name = properties.name;
  d.sms = properties.multiProcessorCount;
  d.l2_bytes = properties.l2CacheSize;
  // kHz times bits, two transfers a clock
  d.dram_gbps =
      2.0 * device_attribute(cudaDevAttrMemoryClockRate) * device_attribute(cudaDevAttrGlobalMemoryBusWidth) / 8e6;
  return d;
}

// ---- Ceilings: what this device reaches when a kernel does nothing but move the bytes.

static __global__ void ceiling_copy(const float4* __restrict__ from, float4* __restrict__ to, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

// Each thread adds up four independent loads; the store never happens, but the compiler cannot know.
static __global__ void ceiling_read(const float4* __restrict__ from, float* __restrict__ never, std::size_t n) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x * 4 + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const std::size_t i = first + static_cast<std::size_t>(k) * blockDim.x;
    if (i < n) {
      const float4 v = from[i];
      sum += v.x + v.y + v.z + v.w;
    }
  }
  if (sum == 1e30f) *never = sum;
}

// Moves `bytes` in all: reads them, or reads one half and writes the other.
class CeilingKernel {
 public:
  CeilingKernel(bool copies, double bytes)
      : copies_(copies),
        n_(static_cast<std::size_t>(bytes) / (copies ? 32 : 16)),
        from_(std::max<std::size_t>(n_, 1)),
        to_(copies ? std::max<std::size_t>(n_, 1) : 1) {
    // Numbers, not zeros: those draw less power, and the clock rises.
    CUDA_CHECK(cudaMemset(from_.get(), 0x3e, from_.count() * sizeof(float4)));
  }

  void run() const {
    if (n_ == 0) return;
    constexpr int block = 256;
    if (copies_) {
      ceiling_copy<<<static_cast<unsigned>(ceil_div(n_, block)), block>>>(from_.get(), to_.get(), n_);
    } else {
      ceiling_read<<<static_cast<unsigned>(ceil_div(n_, 4 * block)), block>>>(from_.get(),
                                                                              reinterpret_cast<float*>(to_.get()), n_);
    }
    CUDA_CHECK(cudaGetLastError());
  }

 private:
  bool copies_;
  std::size_t n_;
  DeviceBuffer<float4> from_, to_;
};

// Brings half of `bytes` to the device and, at the same time, the other half home, from and to pinned memory.
class CeilingLink {
 public:
  explicit CeilingLink(double bytes) : half_(static_cast<std::size_t>(bytes) / 2), device_(2 * half_) {
    CUDA_CHECK(cudaMallocHost(&host_, std::max<std::size_t>(2 * half_, 1)));
    std::memset(host_, 0x3e, 2 * half_);
    // Blocking streams: the default stream, in which the clock's events are, waits for them and they for it.
    for (cudaStream_t& stream : streams_) CUDA_CHECK(cudaStreamCreate(&stream));
  }
  CeilingLink(const CeilingLink&) = delete;
  CeilingLink& operator=(const CeilingLink&) = delete;
  ~CeilingLink() {
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    cudaFreeHost(host_);
  }

  void run() const {
    unsigned char* host = static_cast<unsigned char*>(host_);
    CUDA_CHECK(cudaMemcpyAsync(device_.get(), host, half_, cudaMemcpyHostToDevice, streams_[0]));
    CUDA_CHECK(cudaMemcpyAsync(host + half_, device_.get() + half_, half_, cudaMemcpyDeviceToHost, streams_[1]));
  }

 private:
  std::size_t half_;
  DeviceBuffer<unsigned char> device_;
  void* host_ = nullptr;
  cudaStream_t streams_[2] = {};
};

// The run function of the ceiling of a kind.
inline std::function<void()> make_ceiling(Ceiling kind, double bytes) {
  if (kind == Ceiling::link) {
    const auto link = std::make_shared<CeilingLink>(bytes);
    return [link] { link->run(); };
  }
  const auto kernel = std::make_shared<CeilingKernel>(kind == Ceiling::copy, bytes);
  return [kernel] { kernel->run(); };
}

// ---- Clock

// Keeps the stream busy for a few microseconds, so that what follows is queued by the time it may start and the cost of
// launching it stays out of its time.
static __global__ void hold_stream(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() const { CUDA_CHECK(cudaEventRecord(event_)); }
  void synchronize() const { CUDA_CHECK(cudaEventSynchronize(event_)); }
  friend double microseconds(const Event& from, const Event& to) {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, from.event_, to.event_));
    return 1e3 * ms;
  }

 private:
  cudaEvent_t event_;
};

class Clock {
 public:
  explicit Clock(const Device& device) : flush_(std::max<std::size_t>(device.l2_bytes, 1 << 20)) {}

  double cold_us(const std::function<void()>& run) const {
    CUDA_CHECK(cudaMemsetAsync(flush_.get(), 0, flush_.count()));
    return measure(run, 1);
  }

  double warm_us(const std::function<void()>& run, int launches) const { return measure(run, launches) / launches; }

 private:
  double measure(const std::function<void()>& run, int launches) const {
    hold_stream<<<1, 1>>>(kHoldCycles);
    start_.record();
    for (int i = 0; i < launches; ++i) run();
    stop_.record();
    stop_.synchronize();
    return microseconds(start_, stop_);
  }

  static constexpr long long kHoldCycles = 40000;  // some 20 to 30 us
  DeviceBuffer<unsigned char> flush_;
  Event start_, stop_;
};

// ---- Statistics

struct Timing {
  double median_us = 0;
  double spread = 0;  // interquartile range over the median
};

inline Timing summarize(std::vector<double> us) {
  if (us.empty()) return {};
  std::sort(us.begin(), us.end());
  const auto quantile = [&](double q) { return us[static_cast<std::size_t>(q * (us.size() - 1) + 0.5)]; };
  return {quantile(0.5), (quantile(0.75) - quantile(0.25)) / quantile(0.5)};
}

struct Contestant {
  std::string name;
  std::function<void()> run;
  Timing cold = {}, warm = {};
  std::function<void()> prepare = {};  // if there is one, called before each run, outside its time
  bool back_to_back = true;            // do such runs mean anything? If not there is no warm time.
};

// Times all contestants in turns, each until its mean has settled (standard error under 0.1 %) or its time is up.
inline void time_interleaved(const Clock& clock, std::vector<Contestant>& contestants) {
  constexpr std::size_t least = 25, most = 400;
  constexpr double budget_us = 6e5, few_us = 2e5;
  const std::size_t count = contestants.size();
  std::vector<std::vector<double>> cold(count), warm(count);
  std::vector<double> sum(count, 0), squares(count, 0);

  const auto settled = [&](std::size_t c) {
    const double n = static_cast<double>(cold[c].size());
    if (n < 3) return false;
    if (sum[c] > budget_us) return true;
    if (n < least) return false;
    const double mean = sum[c] / n;
    const double variance = std::max(0.0, squares[c] / n - mean * mean);
    return n >= most || std::sqrt(variance / n) < 1e-3 * mean;
  };

  for (Contestant& c : contestants) {  // load the code, allocate scratch memory
    if (c.prepare) c.prepare();
    c.run();
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  for (bool more = true; more;) {
    more = false;
    for (std::size_t c = 0; c < count; ++c) {
      if (settled(c)) continue;
      if (contestants[c].prepare) contestants[c].prepare();
      const double us = clock.cold_us(contestants[c].run);
      cold[c].push_back(us);
      sum[c] += us;
      squares[c] += us * us;
      more = true;
    }
  }
  for (int round = 0; round < 7; ++round) {
    for (std::size_t c = 0; c < count; ++c) {
      if (!contestants[c].back_to_back) continue;
      const double us = summarize(cold[c]).median_us;
      if (us > few_us && round > 0) continue;
      const int launches = static_cast<int>(std::clamp(5e3 / us, 1.0, 50.0));
      warm[c].push_back(clock.warm_us(contestants[c].run, launches));
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    contestants[c].cold = summarize(cold[c]);
    contestants[c].warm = summarize(warm[c]);
  }
}

}  // namespace ladder
