// bug: the result is cached by pointer and n, but the data may have changed since
// caught by: cpu forward | the second run on these buffers
// caught by: gpu | the second run on these buffers
// stage: right
#include "../sum.cuh"
#include "block_reduce.cuh"

#include <map>
#include <utility>

constexpr int kBlock = 256;

__global__ void sum_one_block(const float* __restrict__ x, float* __restrict__ out, std::size_t n) {
  float sum = 0.0f;
  for (std::size_t i = threadIdx.x; i < n; i += kBlock) sum += x[i];
  sum = block_sum_to_thread_0<kBlock>(sum);
  if (threadIdx.x == 0) *out = sum;
}

static void launch(const float* x, float* out, std::size_t n) {
  static std::map<std::pair<const float*, std::size_t>, DeviceBuffer<float>> kept;
  const auto [found, is_new] = kept.try_emplace({x, n}, 1);
  if (is_new) {
    sum_one_block<<<1, kBlock>>>(x, found->second.get(), n);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaMemcpyAsync(out, found->second.get(), sizeof(float), cudaMemcpyDeviceToDevice));
}

LADDER_STEP(Sum, launch, [](std::size_t n) { return n; });
