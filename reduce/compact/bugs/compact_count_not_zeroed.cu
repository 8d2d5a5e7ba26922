// bug: the counter is set to 0 only when it is allocated, so the next launch starts from the previous launch's count
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../compact.cuh"

constexpr int kBlock = 256;

__global__ void compact_count_not_zeroed(const float* __restrict__ x, float* __restrict__ out, std::int64_t* count,
                                         std::size_t n, unsigned long long* counter) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const float v = i < n ? x[i] : 0.0f;
  unsigned long long to = n;
  if (v > 0.0f) to = atomicAdd(counter, 1ull);
  if (to < n) out[to] = v;
  if (v > 0.0f) atomicMax(reinterpret_cast<unsigned long long*>(count), to + 1);
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  static DeviceBuffer<unsigned long long> counter;
  if (counter.count() == 0) {
    counter.reserve(1);
    CUDA_CHECK(cudaMemsetAsync(counter.get(), 0, sizeof(unsigned long long)));
  }
  CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count));
  if (n == 0) return;
  compact_count_not_zeroed<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock>>>(x, out, count, n, counter.get());
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch, CompactOrder::kAny);
