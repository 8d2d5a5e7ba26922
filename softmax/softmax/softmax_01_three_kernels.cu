// Problem:  one vector: every result needs the sum, and the sum needs the maximum, over all blocks of the grid.
// Idea:     three kernels, one per pass: the end of a kernel is the barrier. Each block reduces by shuffles, then does
//           one atomic. atomicMax on floats works on integers that keep the floats' order.
// Expect:   0.3 to 0.5 of a copy: three reads and a write take twice a copy's time at best, plus gaps between launches.
// Measured: 0.31 of a copy at 2^24 (H200); 0.37 (H100).
// Next:     can maximum and sum be found in one pass?
#include "softmax.cuh"

constexpr int kBlock = 256;

// Maps floats to unsigned integers in the same order: negative floats have all bits flipped, the others only the sign.
__device__ static unsigned ordered(float v) {
  const unsigned bits = __float_as_uint(v);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ static float from_ordered(unsigned v) { return __uint_as_float(v >> 31 ? v & 0x7fffffffu : ~v); }

// *max must be 0 before the launch, below every ordered float. fmaxf drops NaN; the sum keeps it.
__global__ void softmax_max(const float* __restrict__ x, std::size_t n, unsigned* max) {
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  float v = -INFINITY;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += threads) {
    v = fmaxf(v, x[i]);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, offset));
  __shared__ float warps[kBlock / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kBlock / 32; ++w) v = fmaxf(v, warps[w]);
    atomicMax(max, ordered(v));
  }
}

// *sum must be 0 before the launch.
__global__ void softmax_sum(const float* __restrict__ x, std::size_t n, const unsigned* max, float* sum) {
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  const float m = from_ordered(*max);
  float v = 0.0f;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += threads) {
    v += expf(x[i] - m);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  __shared__ float warps[kBlock / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kBlock / 32; ++w) v += warps[w];
    atomicAdd(sum, v);
  }
}

__global__ void softmax_scale(const float* __restrict__ x, float* __restrict__ y, std::size_t n, const unsigned* max,
                              const float* sum) {
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  const float m = from_ordered(*max), s = *sum;
  for (std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += threads) {
    y[i] = expf(x[i] - m) / s;
  }
}

static unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(softmax_sum, kBlock);
  return static_cast<unsigned>(std::min(ceil_div(n, kBlock), resident));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  unsigned* max = scratch<unsigned>(2);
  float* sum = reinterpret_cast<float*>(max + 1);
  CUDA_CHECK(cudaMemsetAsync(max, 0, 2 * sizeof(unsigned)));  // also the bits of 0.0f
  const unsigned grid = grid_size(n);
  softmax_max<<<grid, kBlock>>>(x, n, max);
  CUDA_CHECK(cudaGetLastError());
  softmax_sum<<<grid, kBlock>>>(x, n, max, sum);
  CUDA_CHECK(cudaGetLastError());
  softmax_scale<<<grid, kBlock>>>(x, y, n, max, sum);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp and division. Denominator: exp, a thread's additions, the tree, the warps, the blocks in any order.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u);
  return 5 + 4 + ceil_div(n, grid * kBlock) + 5 + kBlock / 32 + grid;
}

LADDER_STEP(Softmax, launch, roundings);
