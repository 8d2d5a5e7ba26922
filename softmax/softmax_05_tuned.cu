// Step 04 treats all of x alike. Idea: tell the caches what is worth keeping, and let no load wait for another. What
// stays on the chip is read with __ldcs ("evict first"): L2 shall keep the rest, which is read plainly, and is asked
// for again. The rest now comes first, while no register holds data yet, so that four independent float4 are in flight,
// where step 04 has one; in vectors far beyond the chip's capacity that is nearly all of the work.
// Expect: a few per cent, where launch, barrier, and the switch from reading to writing cost a fixed ten microseconds.
// Next question: can reading overlap with writing, as in a copy? (No: the first y depends on the last x.)
#include "softmax.cuh"
#include "float4_row.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 1024;  // one block per multiprocessor
constexpr int kKept = 8;      // float4 of each thread in registers: half of the 256 KB that a multiprocessor has

// Chunks of four elements for each thread of the grid: the first kKept stay in registers, then `chunks` in shared
// memory. `pairs` has room for one per block. It is not const __restrict__: blocks read what others have written
// meanwhile.
template <bool vector>
__global__ void __launch_bounds__(kBlock, 1)
    softmax_tuned(const float* __restrict__ x, float* __restrict__ y, std::size_t n, MaxSum* pairs, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kBlock + tid, mine = vector ? 4 * first : first;
  const std::size_t end = vector ? n / 4 * 4 : n, tail = end + first;
  const std::size_t stride = 4 * threads, rest = (kKept + chunks) * stride + mine;

  MaxSum s = {-INFINITY, 0.0f};
  std::size_t i = rest;
  for (; vector && i + 3 * stride < end; i += 4 * stride) {
    float4 w[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) w[k] = *reinterpret_cast<const float4*>(x + i + k * stride);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) s = merge(s, pair_of(w[k]));
  }
  for (; i < end; i += stride) s = merge(s, pair_of(load4<vector, kStreaming>(x, i, end, threads)));
  if (tail < n) s = merge(s, {x[tail], 1.0f});

#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) {
    shared[k * kBlock + tid] = load4<vector, kStreaming>(x, (kKept + k) * stride + mine, end, threads);
  }
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = load4<vector, kStreaming>(x, k * stride + mine, end, threads);
  float max = -INFINITY, sum = 0.0f;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  for (unsigned k = 0; k < chunks; ++k) max = fmaxf(max, max4(shared[k * kBlock + tid]));
  const float shift = shift_for(max);
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += sum4(exp4(v[k], shift));
  for (unsigned k = 0; k < chunks; ++k) sum += sum4(exp4(shared[k * kBlock + tid], shift));
  s = block_merge<kBlock / 32>(merge(s, {max, sum}));
  if (tid == 0) pairs[blockIdx.x] = s;

  cg::this_grid().sync();  // every block has stored its pair, and every block sees all of them

  s = {-INFINITY, 0.0f};
  for (unsigned b = tid; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge<kBlock / 32>(s);
  const float inverse = 1.0f / s.sum;
  for (i = rest; vector && i + 3 * stride < end; i += 4 * stride) {  // may still be in L2
    float4 w[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) w[k] = load4<vector, kStreaming>(x, i + k * stride, end, threads);
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
      store4<vector, kStreaming>(y, i + k * stride, end, threads, exp4(w[k], s.max, inverse));
    }
  }
  for (; i < end; i += stride) {
    store4<vector, kStreaming>(y, i, end, threads, exp4(load4<vector, kStreaming>(x, i, end, threads), s.max, inverse));
  }
  if (tail < n) y[tail] = expf(x[tail] - s.max) * inverse;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    store4<vector, kStreaming>(y, k * stride + mine, end, threads, exp4(v[k], s.max, inverse));
  }
  for (unsigned k = 0; k < chunks; ++k) {
    store4<vector, kStreaming>(y, (kKept + k) * stride + mine, end, threads,
                               exp4(shared[k * kBlock + tid], s.max, inverse));
  }
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::min<std::size_t>(ceil_div(n, 4 * kBlock), sm_count()));
}

// What registers do not hold, as far as there is room.
static unsigned shared_chunks(std::size_t n) {
  const int bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10);  // 1 KB for `warps`
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
  const auto kernel = aligned_for<float4>(x, y) ? softmax_tuned<true> : softmax_tuned<false>;
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CUDA_CHECK(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(kBlock), arguments, bytes, nullptr));
}

// exp, inverse and product above. Below exp and additions of what is kept, and for each merge exp, product and
// addition: what is not kept, the tail, what is kept, 5 and 5 in the block, the blocks' pairs in a thread, and 5 and 5
// again.
static std::size_t roundings(std::size_t n) {
  const std::size_t grid = std::max(grid_size(n), 1u), chunks = ceil_div(n, 4 * grid * kBlock);
  const std::size_t kept = kKept + shared_chunks(n), rest = chunks - std::min(chunks, kept);
  return 6 + 4 + 2 + kept + 6 * (rest + 2 + 10 + ceil_div(grid, kBlock) + 10);
}

LADDER_STEP(Softmax, launch, roundings);
