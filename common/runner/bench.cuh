// GPU timing after the method of NVIDIA's nvbench: CUDA events around one launch after an L2 flush (cold), and around
// several launches back to back (warm). statistics.hpp decides the order and evaluates the samples.
#pragma once
#include "cuda_helpers.cuh"
#include "footprint.hpp"
#include "problem.hpp"
#include "report.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

namespace ladder {

struct Device {
  std::string name;
  std::size_t l2_bytes = 0;
  Peaks peaks;
  double boost_mhz = 0;
};

inline Device device() {
  int current = 0;
  CUDA_CHECK(cudaGetDevice(&current));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, current));
  Device d;
  d.name = properties.name;
  d.l2_bytes = properties.l2CacheSize;
  d.boost_mhz = device_attribute(cudaDevAttrClockRate) / 1e3;
  const bool narrow = properties.major == 7 || (properties.major == 8 && properties.minor == 0);
  const double fp32_per_clock = 2.0 * (narrow ? 64 : 128) * sm_count();  // an FMA is 2 FLOP
  d.peaks = {dram_bandwidth() / 1e9, fp32_per_clock * d.boost_mhz / 1e6};
  return d;
}

// ---- Ceilings: the bandwidth that this device reaches when a kernel only moves bytes.

static __global__ void ceiling_copy(const float4* __restrict__ from, float4* __restrict__ to, std::size_t n) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

// Each thread sums four independent loads. The store never happens, but the compiler cannot know, so it keeps the
// loads.
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

// Moves bytes(size) in total: reads them, or reads one half and writes the other half.
class CeilingKernel : public OwnCeiling {
 public:
  CeilingKernel(const Problem& problem, const Size& size)
      : copies_(problem.ceiling() == Ceiling::copy),
        plan_(plan_ceiling(problem, size)),
        n_(plan_.bytes_each / (copies_ ? 32 : 16)),
        from_(std::max<std::size_t>(n_, 1)),
        to_(copies_ ? std::max<std::size_t>(n_, 1) : 1) {
    // not zeros: moving those draws less power, and the clock rises
    CUDA_CHECK(cudaMemset(from_.get(), 0x3e, from_.count() * sizeof(float4)));
  }

  void run() const override {
    if (n_ == 0) return;
    constexpr int block = 256;
    for (std::size_t i = 0; i < plan_.launches; ++i) {
      if (copies_) {
        ceiling_copy<<<static_cast<unsigned>(ceil_div(n_, block)), block>>>(from_.get(), to_.get(), n_);
      } else {
        ceiling_read<<<static_cast<unsigned>(ceil_div(n_, 4 * block)), block>>>(
            from_.get(), reinterpret_cast<float*>(to_.get()), n_);
      }
      CUDA_CHECK(cudaGetLastError());
    }
  }

 private:
  bool copies_;
  CeilingPlan plan_;
  std::size_t n_;
  DeviceBuffer<float4> from_, to_;
};

inline std::unique_ptr<OwnCeiling> make_ceiling(const Problem& problem, const Size& size) {
  std::unique_ptr<OwnCeiling> own = problem.own_ceiling(size);
  return own ? std::move(own) : std::make_unique<CeilingKernel>(problem, size);
}

// ---- Clock

// Pinned host memory that the device reads and writes.
struct Mailbox {
  volatile int released, gave_up;
  volatile long long ns[2], cycles[2];  // of the two stamps
};

__device__ inline long long global_ns() {
  long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// Holds the stream until the host releases it. By then all launches that follow are queued, so that none waits for the
// host. After `patience_ns` it gives up: the host is then itself waiting for the device, inside the run.
static __global__ void hold_stream(Mailbox* mail, long long patience_ns) {
  const long long start = global_ns();
  while (!mail->released) {
    if (global_ns() - start < patience_ns) continue;
    mail->gave_up = 1;
    return;
  }
}

// Stores the time in ns and the clock count of SM 0: two stamps give the mean clock in between. Each SM has its own
// count, hence always SM 0. A block runs there if the grid has at least as many blocks as SMs, and nothing else is
// running.
static __device__ int last_stamp;
static __global__ void stamp(Mailbox* mail, int slot, int number) {
  int sm;
  asm("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm != 0 || atomicExch(&last_stamp, number) == number) return;  // not SM 0, or not the first block on it
  mail->ns[slot] = global_ns();
  mail->cycles[slot] = clock64();
}

class Event {
 public:
  Event() { CUDA_CHECK(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void record() const { CUDA_CHECK(cudaEventRecord(event_)); }
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
  explicit Clock(const Device& device) : flush_(std::max<std::size_t>(device.l2_bytes, 1 << 20)) {
    CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&mail_), sizeof(Mailbox)));
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  ~Clock() { cudaFreeHost(mail_); }

  // Times one run after an L2 flush by writing, as nvbench does. The flush fills L2 with dirty lines, as the preceding
  // kernel of a program would. Their write-back is part of the run's time, that of the run's own dirty lines is not.
  // After a flush by reading, L2 would be clean, and a kernel that writes less than L2 holds could end before its
  // writes reach DRAM. Drawback: evict-first loads do not evict the dirty lines, so a read-only kernel that uses them
  // saves the time of those write-backs. Its warm time is free of this effect.
  //
  // Calls prepare() first, outside the time. Sets `waits` if the host waits for the device inside the run. Such a run
  // is held only while its first launch is queued, and its time includes launches.
  Sample cold(const std::function<void()>& prepare, const std::function<void()>& run, bool& waits) {
    for (int tries = 0;; ++tries) {
      prepare();
      CUDA_CHECK(cudaMemsetAsync(flush_.get(), 0, flush_.count()));
      const Sample sample = measure(run, 1, waits ? kShortHoldNs : kPatienceNs);
      if (waits || !mail_->gave_up) return sample;
      waits = tries > 0;  // once may be chance: the host was busy
    }
  }

  // Returns the time per run of `launches` back to back, or of fewer if the launch queue is too short. Returns us < 0
  // if the host waits inside the run, since runs are then not back to back.
  Sample warm(const std::function<void()>& run, int launches) {
    for (; launches > 0; launches /= 2) {
      Sample sample = measure(run, launches, kPatienceNs);
      sample.us /= launches;
      if (!mail_->gave_up) return sample;
    }
    return {-1, 0};
  }

 private:
  static constexpr long long kPatienceNs = 30'000'000, kShortHoldNs = 20'000;

  Sample measure(const std::function<void()>& run, int launches, long long patience_ns) {
    mail_->released = mail_->gave_up = 0;
    for (const int slot : {0, 1}) mail_->ns[slot] = mail_->cycles[slot] = 0;
    put_stamp(0);
    hold_stream<<<1, 1>>>(mail_, patience_ns);
    start_.record();
    for (int i = 0; i < launches; ++i) run();
    stop_.record();
    put_stamp(1);
    mail_->released = 1;
    CUDA_CHECK(cudaDeviceSynchronize());
    const double ns = static_cast<double>(mail_->ns[1] - mail_->ns[0]);
    const double cycles = static_cast<double>(mail_->cycles[1] - mail_->cycles[0]);
    const bool stamped = mail_->ns[0] > 0 && mail_->ns[1] > 0 && ns > 0 && cycles > 0;
    return {microseconds(start_, stop_), stamped ? 1e3 * cycles / ns : 0};
  }

  void put_stamp(int slot) {
    stamp<<<2 * sm_count(), 1>>>(mail_, slot, ++stamps_);
    CUDA_CHECK(cudaGetLastError());
  }

  DeviceBuffer<unsigned char> flush_;
  Mailbox* mail_ = nullptr;
  int stamps_ = 0;
  Event start_, stop_;
};

}  // namespace ladder
