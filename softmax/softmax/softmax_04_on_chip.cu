// Problem:  step 03 reads x a second time, though the same threads have read it before the barrier.
// Idea:     hold what fits in registers and shared memory of all SMs, 48 of the 67 MB of 2^24 floats, with one block of
//           1024 threads per SM. The remainder is read again, perhaps from L2.
// Expect:   1.3 to 1.5x step 03 at 2^24: 2.3 accesses per element instead of 3. 1.0 to 1.1x at 2^28, of which 4 % fit.
// Measured: 1.70x step 03, 0.70 of a copy at 2^24 (H200); 1.66x, 0.80 (H100).
// Why:      more than the accesses explain, at 2^28 too: float4, and one exp per held element instead of two.
// Next:     what does memory do while all threads compute exps?
#include "softmax.cuh"
#include "../float4_row.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 1024;  // one block per SM
constexpr int kKept = 8;      // float4 per thread in registers: half of an SM's 256 KB

// A chunk is four elements per thread of the grid: kKept stay in registers, `chunks` in shared memory; the others are
// read again. `pairs` has one per block; other blocks write it, so it isn't const __restrict__.
template <bool kAligned>
__global__ void __launch_bounds__(kBlock, 1)
    softmax_on_chip(const float* __restrict__ x, float* __restrict__ y, std::size_t n, MaxSum* pairs, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  const std::size_t thread = std::size_t{blockIdx.x} * kBlock + tid, first = kAligned ? 4 * thread : thread;
  const std::size_t end = kAligned ? n / 4 * 4 : n, tail = end + thread;
  const std::size_t stride = 4 * threads, remainder = (kKept + chunks) * stride + first;

  // load what is held; the remainder by the online rule
#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) {
    shared[k * kBlock + tid] = load4<kAligned>(x, (kKept + k) * stride + first, end, threads);
  }
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = load4<kAligned>(x, k * stride + first, end, threads);
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = remainder; i < end; i += stride) s = merge(s, pair_of(load4<kAligned>(x, i, end, threads)));
  if (tail < n) s = merge(s, {x[tail], 1.0f});

  // reduce: the maximum of the held elements, then one exp for each
  float max = -INFINITY, sum = 0.0f;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(shared[k * kBlock + tid]));
  const float shift = shift_for(max);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += sum4(exp4(v[k], shift));
  for (unsigned k = 0; k < chunks; ++k) sum += sum4(exp4(shared[k * kBlock + tid], shift));
  s = block_merge(merge(s, {max, sum}));
  if (tid == 0) pairs[blockIdx.x] = s;

  cg::this_grid().sync();  // every block has stored its pair, and every block sees all of them

  // merge the blocks' pairs
  s = {-INFINITY, 0.0f};
  for (unsigned b = tid; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge(s);

  // store: the remainder first, because it may still be in L2
  const float inverse = 1.0f / s.sum;
  for (std::size_t i = remainder; i < end; i += stride) {
    store4<kAligned, kEvictFirst>(y, i, end, threads, exp4(load4<kAligned>(x, i, end, threads), s.max, inverse));
  }
  if (tail < n) y[tail] = expf(x[tail] - s.max) * inverse;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    store4<kAligned, kEvictFirst>(y, k * stride + first, end, threads, exp4(v[k], s.max, inverse));
  }
  for (unsigned k = 0; k < chunks; ++k) {
    store4<kAligned, kEvictFirst>(y, (kKept + k) * stride + first, end, threads,
                                  exp4(shared[k * kBlock + tid], s.max, inverse));
  }
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::min<std::size_t>(ceil_div(n, 4 * kBlock), sm_count()));
}

// Returns how many of the chunks that registers do not hold fit in shared memory.
static unsigned shared_chunks(std::size_t n) {
  // 227 KB is the largest limit of today's GPUs; 1 KB is for block_merge
  const int bytes = std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10) - (1 << 10);
  const std::size_t most = bytes / (kBlock * sizeof(float4));
  const std::size_t all = ceil_div(n, std::size_t{4} * kBlock * std::max(grid_size(n), 1u));
  return static_cast<unsigned>(std::min(all - std::min<std::size_t>(all, kKept), most));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = grid_size(n);
  unsigned chunks = shared_chunks(n);
  MaxSum* pairs = scratch<MaxSum>(grid);
  void* arguments[] = {&x, &y, &n, &pairs, &chunks};
  const auto kernel = aligned_for<float4>(x, y) ? softmax_on_chip<true> : softmax_on_chip<false>;
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CUDA_CHECK(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(kBlock), arguments, bytes, nullptr));
}

// Numerator: exp, inverse, product. Denominator: exp, additions of what is held; 6 per merge; 20; again for the pairs.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u), chunks = ceil_div(n, 4 * grid * kBlock);
  const std::size_t kept = kKept + shared_chunks(n), remainder = chunks - std::min(chunks, kept);
  return 6 + 4 + 2 + kept + 6 * (remainder + 2) + 20 + 6 * ceil_div(grid, kBlock) + 20;
}

LADDER_STEP(Softmax, launch, roundings);
