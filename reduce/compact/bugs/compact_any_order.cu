// bug: warps take positions from a counter in the order in which they arrive, but the order of x is required
// caught by: cpu reverse | is wrong
// caught by: gpu | is wrong | --n=2^20
// stage: races and barriers
#include "../compact.cuh"

constexpr int kBlock = 256;

__global__ void compact_any_order(const float* __restrict__ x, float* __restrict__ out, unsigned long long* count,
                                  std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const float v = i < n ? x[i] : 0.0f;
  const unsigned kept = __ballot_sync(0xffffffff, v > 0.0f);
  unsigned long long first = 0;
  if (lane == 0 && kept != 0) first = atomicAdd(count, __popc(kept));
  first = __shfl_sync(0xffffffff, first, 0);
  if (v > 0.0f) out[first + __popc(kept & ((1u << lane) - 1))] = v;
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count));
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
  compact_any_order<<<blocks, kBlock>>>(x, out, reinterpret_cast<unsigned long long*>(count), n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch);
