// bug: each lane that keeps an element votes with a mask that names only itself, so it counts one lane
// caught by: cpu forward | in any order
// caught by: gpu | in any order
// stage: right
#include "../compact.cuh"

constexpr int kBlock = 256;

__global__ void compact_ballot_of_some(const float* __restrict__ x, float* __restrict__ out, unsigned long long* count,
                                       std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  const unsigned lane = threadIdx.x % 32;
  const float v = i < n ? x[i] : 0.0f;
  __shared__ unsigned long long first[kBlock / 32];
  const unsigned all = __ballot_sync(0xffffffff, v > 0.0f);
  if (lane == 0) first[threadIdx.x / 32] = atomicAdd(count, __popc(all));
  __syncwarp();
  if (v > 0.0f) {
    const unsigned kept = __ballot_sync(1u << lane, true);
    out[first[threadIdx.x / 32] + __popc(kept & ((1u << lane) - 1))] = v;
  }
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count));
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(n, kBlock));
  compact_ballot_of_some<<<blocks, kBlock>>>(x, out, reinterpret_cast<unsigned long long*>(count), n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch, CompactOrder::kAny);
