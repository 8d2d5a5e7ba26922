// bug: a tile sets its flag before it stores the count that the flag announces
// caught by: cpu forward | is wrong
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong
// stage: right
#include "../../block_scan.cuh"
#include "../compact.cuh"

constexpr int kBlock = 256;

// flags: a counter of tiles taken, then one flag per tile; all 0.
__global__ void compact_count_after_flag(const float* __restrict__ x, float* __restrict__ out, std::int64_t* count,
                                         std::size_t n, unsigned* flags, volatile unsigned* prefixes) {
  __shared__ unsigned tile, before;
  const int tid = threadIdx.x;
  if (tid == 0) tile = atomicAdd(flags, 1);
  __syncthreads();
  const std::size_t i = std::size_t{tile} * kBlock + tid;
  const float v = i < n ? x[i] : 0.0f;
  const BlockScan<unsigned> scan = block_scan<kBlock>(unsigned{v > 0.0f});
  if (tid == 0) {
    before = 0;
    if (tile > 0) {
      while (*static_cast<volatile unsigned*>(flags + tile) == 0) {
      }
      __threadfence();
      before = prefixes[tile - 1];
    }
  }
  __syncthreads();
  if (tid == 0) atomicExch(flags + 1 + tile, 1u);
  if (v > 0.0f && before + scan.before < n) out[before + scan.before] = v;
  __threadfence();
  if (tid == kBlock - 1) prefixes[tile] = before + scan.total;
  if (tid == 0 && tile == gridDim.x - 1) *count = before + scan.total;
}

static void launch(const float* x, float* out, std::int64_t* count, std::size_t n) {
  CUDA_CHECK(cudaMemsetAsync(count, 0, sizeof *count));
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kBlock));
  auto* flags = scratch<unsigned>(2 * tiles + 1);
  CUDA_CHECK(cudaMemsetAsync(flags, 0, (2 * tiles + 1) * sizeof(unsigned)));
  compact_count_after_flag<<<tiles, kBlock>>>(x, out, count, n, flags, flags + 1 + tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Compact, launch);
