// bug: tests the alignment of the pointer but not k: with k = 17 the second row starts at byte 17
// caught by: cpu forward | misaligned address
// caught by: cpu-asan forward | misaligned address
// caught by: gpu | misaligned address
// stage: memory
#include "block_reduce.cuh"
#include "../gemv_w8.cuh"

constexpr int kBlock = 256, kGroup = 128;

__global__ void gemv_w8_misaligned(const std::int8_t* __restrict__ W, const float* __restrict__ scales,
                                   const __nv_bfloat16* __restrict__ x, float* __restrict__ y, std::size_t n,
                                   std::size_t k, bool aligned) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * kBlock + threadIdx.x) / 32;
  if (row >= n) return;
  const std::int8_t* w = W + row * k;
  const float* scale = scales + row * ceil_div(k, kGroup);
  float sum = 0.0f;
  const std::size_t chunks = aligned ? k / 16 : 0;
  for (std::size_t c = lane; c < chunks; c += 32) {
    const int4 v = *reinterpret_cast<const int4*>(w + 16 * c);
    const int words[4] = {v.x, v.y, v.z, v.w};
    for (int i = 0; i < 16; ++i) {
      const auto weight = static_cast<std::int8_t>(words[i / 4] >> i % 4 * 8);
      sum += scale[16 * c / kGroup] * weight * __bfloat162float(x[16 * c + i]);
    }
  }
  for (std::size_t j = 16 * chunks + lane; j < k; j += 32) sum += scale[j / kGroup] * w[j] * __bfloat162float(x[j]);
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = sum;
}

static void launch(const std::int8_t* W, const float* scales, const __nv_bfloat16* x, float* y, std::size_t n,
                   std::size_t k) {
  if (n == 0) return;
  gemv_w8_misaligned<<<static_cast<unsigned>(ceil_div(n, kBlock / 32)), kBlock>>>(W, scales, x, y, n, k,
                                                                                  aligned_for<int4>(W));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvW8, launch);
