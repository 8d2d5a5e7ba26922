// Asynchronous copies from global to shared memory.
#include "support.cuh"

#include <cuda_pipeline.h>

#include <cmath>

#ifdef CUDA_EMU
#include "cuda_emu/settings.hpp"
#endif

namespace {

constexpr int kThreads = 64;

// Each thread copies a T, of which the last `zeros` bytes become 0; another thread reads it.
template <class T>
__global__ void copy_one(const T* in, T* out, int zeros) {
  __shared__ T tile[kThreads];
  const int t = threadIdx.x;
  if (zeros == 0) {
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(T));
  } else {
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(T), zeros);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[kThreads - 1 - t] = tile[kThreads - 1 - t];
}

template <class T>
void check_copy_one() {
  std::vector<float> in(kThreads * sizeof(T) / sizeof(float));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = 1.0f + i;
  DeviceVector<float> device_in(in);
  for (const std::size_t zeros : {std::size_t{0}, std::size_t{4}, sizeof(T)}) {
    DeviceVector<float> out(in.size(), -1.0f);
    copy_one<<<1, kThreads>>>(reinterpret_cast<const T*>(device_in.data()), reinterpret_cast<T*>(out.data()),
                              static_cast<int>(zeros));
    const std::vector<float> got = out.get();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool zero = i * 4 % sizeof(T) >= sizeof(T) - zeros;
      CHECK(got[i] == (zero ? 0 : in[i]));
    }
  }
}

// A ring of three stages: while one is summed, two are in flight.
__global__ void sum_of_tiles(const float* in, float* out, int tiles) {
  constexpr int stages = 3;
  __shared__ float ring[stages][kThreads];
  const int t = threadIdx.x;
  for (int s = 0; s < stages - 1; ++s) {
    if (s < tiles) __pipeline_memcpy_async(&ring[s][t], &in[s * kThreads + t], 4);
    __pipeline_commit();
  }
  float sum = 0;
  for (int i = 0; i < tiles; ++i) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    sum += ring[i % stages][(t + i) % kThreads];
    const int next = i + stages - 1;
    if (next < tiles) __pipeline_memcpy_async(&ring[next % stages][t], &in[next * kThreads + t], 4);
    __pipeline_commit();
  }
  out[t] = sum;
}

#ifdef CUDA_EMU
// Records what a thread reads from shared memory that held zeros: right after the copy is started, after a wait that
// does not include it, and after the wait for it.
__global__ void watch(const float* in, float* seen) {
  __shared__ float place;
  place = 0;
  __pipeline_memcpy_async(&place, in, 4);
  seen[0] = place;
  __pipeline_wait_prior(0);  // nothing was committed
  seen[1] = place;
  __pipeline_commit();
  __pipeline_commit();
  __pipeline_wait_prior(2);
  seen[2] = place;
  __pipeline_wait_prior(1);
  seen[3] = place;
}

// The first block ends with a copy in flight, which must not reach the next block.
__global__ void leave_under_way(const float* in, float* seen) {
  __shared__ float place;
  place = 0;
  if (blockIdx.x == 0) __pipeline_memcpy_async(&place, in, 4);
  __pipeline_commit();
  if (blockIdx.x == 0) return;
  __pipeline_wait_prior(0);
  *seen = place;
}

enum class Mistake { size, zeros, shared_alignment, global_alignment, destination };

__global__ void make_mistake(const float* in, float* out, Mistake mistake) {
  __shared__ alignas(16) float tile[8];
  switch (mistake) {
    case Mistake::size:
      return __pipeline_memcpy_async(tile, in, 12);
    case Mistake::zeros:
      return __pipeline_memcpy_async(tile, in, 4, 8);
    case Mistake::shared_alignment:
      return __pipeline_memcpy_async(tile + 1, in, 8);
    case Mistake::global_alignment:
      return __pipeline_memcpy_async(tile, in + 2, 16);
    case Mistake::destination:
      return __pipeline_memcpy_async(out, in, 4);
  }
}
#endif

}  // namespace

TEST_CASE("copies of 4, 8 and 16 bytes, with zeros") {
  check_copy_one<float>();
  check_copy_one<float2>();
  check_copy_one<float4>();
}

TEST_CASE("a ring of stages") {
  for (const int tiles : {0, 1, 2, 3, 4, 10}) {
    std::vector<float> in(tiles * kThreads + 1);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 37);
    DeviceVector<float> device_in(in), out(kThreads);
    sum_of_tiles<<<1, kThreads>>>(device_in.data(), out.data(), tiles);
    const std::vector<float> got = out.get();
    for (int t = 0; t < kThreads; ++t) {
      float want = 0;
      for (int i = 0; i < tiles; ++i) want += in[i * kThreads + (t + i) % kThreads];
      CHECK(got[t] == want);
    }
  }
}

#ifdef CUDA_EMU
TEST_CASE("when a copy happens depends on the order of threads") {
  const std::string order = cuda_emu::order_name();
  DeviceVector<float> in(1, 7.0f);
  const auto seen = [&](const char* name) {
    REQUIRE(cuda_emu::set_order(name));
    DeviceVector<float> out(4);
    watch<<<1, 1>>>(in.data(), out.data());
    return out.get();
  };
  CHECK(seen("forward") == std::vector<float>{0, 0, 0, 7});
  CHECK(seen("reverse") == std::vector<float>{7, 7, 7, 7});
  bool early = false, late = false;
  for (int seed = 0; seed < 32; ++seed) {
    const std::vector<float> got = seen(("random:" + std::to_string(seed)).c_str());
    (got[0] == 7 ? early : late) = true;
    CHECK(got[3] == 7);
  }
  CHECK(early);
  CHECK(late);

  REQUIRE(cuda_emu::set_order("forward"));
  DeviceVector<float> place(1, -1.0f);
  leave_under_way<<<2, 1>>>(in.data(), place.data());
  CHECK(place.get()[0] == 0);
  REQUIRE(cuda_emu::set_order(order.c_str()));
}

TEST_CASE("copies that the hardware cannot make end the launch") {
  DeviceVector<float> in(8), out(8);
  for (const Mistake mistake :
       {Mistake::size, Mistake::zeros, Mistake::shared_alignment, Mistake::global_alignment, Mistake::destination}) {
    make_mistake<<<1, 1>>>(in.data(), out.data(), mistake);
    const bool alignment = mistake == Mistake::shared_alignment || mistake == Mistake::global_alignment;
    CHECK(cudaDeviceSynchronize() == (alignment ? cudaErrorMisalignedAddress : cudaErrorLaunchFailure));
    REQUIRE_CUDA(cudaDeviceReset());
  }
}
#endif
