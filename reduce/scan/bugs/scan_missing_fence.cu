// bug: a tile's value and flag are two words without a fence between their stores or between their loads
// caught by: cpu-trace | global memory with no fence and atomic between
// caught by: gpu | is wrong
// stage: races and barriers
#include "../../block_scan.cuh"
#include "../scan.cuh"

constexpr int kBlock = 256;

enum State : unsigned { kNothing, kSum, kPrefix };

// flags: a counter of tiles taken, then one flag per tile; all 0.
__global__ void scan_missing_fence(const float* __restrict__ x, float* __restrict__ out, std::size_t n, bool exclusive,
                                   unsigned* flags, float* sums, float* prefixes) {
  __shared__ unsigned tile;
  __shared__ float shared_before;
  if (threadIdx.x == 0) tile = atomicAdd(flags, 1);
  __syncthreads();
  const std::size_t i = std::size_t{tile} * kBlock + threadIdx.x;
  const float v = i < n ? x[i] : 0.0f;
  const BlockScan<float> scan = block_scan<kBlock>(v);
  if (threadIdx.x == 0) {
    sums[tile] = scan.total;
    atomicExch(flags + 1 + tile, kSum);
    float before = 0.0f;
    for (unsigned other = tile; other-- > 0;) {
      unsigned state;
      while ((state = *static_cast<volatile unsigned*>(flags + 1 + other)) == kNothing) {
      }
      if (state == kPrefix) {
        before += prefixes[other];
        break;
      }
      before += sums[other];
    }
    prefixes[tile] = before + scan.total;
    atomicExch(flags + 1 + tile, kPrefix);
    shared_before = before;
  }
  __syncthreads();
  const float before = shared_before + scan.before;
  if (i < n) out[i] = exclusive ? before : before + v;
}

static void launch(const float* x, float* out, std::size_t n, bool exclusive) {
  if (n == 0) return;
  const auto tiles = static_cast<unsigned>(ceil_div(n, kBlock));
  auto* flags = scratch<unsigned>(3 * tiles + 1);
  CUDA_CHECK(cudaMemsetAsync(flags, 0, (3 * tiles + 1) * sizeof(unsigned)));
  auto* sums = reinterpret_cast<float*>(flags + 1 + tiles);
  scan_missing_fence<<<tiles, kBlock>>>(x, out, n, exclusive, flags, sums, sums + tiles);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Scan, launch);
