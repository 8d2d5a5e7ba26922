// bug: thread 0 sets the tile's flag before the last thread has stored the value that the flag announces
// caught by: cpu forward | is wrong
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong | --n=2^26
// stage: right
#include "../../block_scan.cuh"
#include "../scan.cuh"

constexpr int kBlock = 256;

// flags: a counter of tiles taken, then one flag per tile; all 0.
__global__ void scan_flag_before_value(const float* __restrict__ x, float* __restrict__ out, std::size_t n,
                                       bool exclusive, unsigned* flags, volatile float* prefixes) {
  __shared__ unsigned tile;
  __shared__ float before;
  const int tid = threadIdx.x;
  if (tid == 0) tile = atomicAdd(flags, 1);
  __syncthreads();
  const std::size_t i = std::size_t{tile} * kBlock + tid;
  const float v = i < n ? x[i] : 0.0f;
  const BlockScan<float> scan = block_scan<kBlock>(v);
  if (tid == 0) {
    before = 0.0f;
    if (tile > 0) {
      while (*static_cast<volatile unsigned*>(flags + tile) == 0) {
      }
      __threadfence();
      before = prefixes[tile - 1];
    }
  }
  __syncthreads();
  if (tid == 0) atomicExch(flags + 1 + tile, 1u);
  if (i < n) out[i] = exclusive ? before + scan.before : before + scan.before + v;
  __threadfence();
  if (tid == kBlock - 1) prefixes[tile] = before + scan.total;
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kBlock));
  auto* flags = scratch<unsigned>(2 * tiles + 1);
  CUDA_CHECK(cudaMemsetAsync(flags, 0, (2 * tiles + 1) * sizeof(unsigned)));
  auto* prefixes = reinterpret_cast<float*>(flags + 1 + tiles);
  scan_flag_before_value<<<tiles, kBlock>>>(x, out, n, exclusive, flags, prefixes);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Scan, launch);
