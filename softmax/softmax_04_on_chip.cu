// Step 03 reads x a second time, though its threads have all been there since the first. Idea: what fits stays on the
// chip. A multiprocessor has 256 KB of registers, of which half can hold data, and up to 227 KB of shared memory; 132
// of them hold 47 of the 64 MB of 2^24 floats. The rest is read last before the barrier and first after it, from L2,
// which has 50 MB and sees nothing else in between. One block of 1024 threads per multiprocessor, all loads float4.
// Expect: for 2^24 floats 1.3 times step 03 or more; beyond the chip's capacity less and less.
// Next question: is one barrier for the whole grid not slow? (A microsecond or two, against some fifty in all.)
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
    softmax_on_chip(const float* __restrict__ x, float* __restrict__ y, std::size_t n, MaxSum* pairs, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * kBlock;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kBlock + tid, mine = vector ? 4 * first : first;
  const std::size_t end = vector ? n / 4 * 4 : n, tail = end + first;
  const std::size_t stride = 4 * threads, rest = (kKept + chunks) * stride + mine;

#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) {
    shared[k * kBlock + tid] = load4<vector>(x, (kKept + k) * stride + mine, end, threads);
  }
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = load4<vector>(x, k * stride + mine, end, threads);
  MaxSum s = {-INFINITY, 0.0f};
  for (std::size_t i = rest; i < end; i += stride) s = merge(s, pair_of(load4<vector>(x, i, end, threads)));
  if (tail < n) s = merge(s, {x[tail], 1.0f});

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
  for (std::size_t i = rest; i < end; i += stride) {  // may still be in L2
    store4<vector, kStreaming>(y, i, end, threads, exp4(load4<vector>(x, i, end, threads), s.max, inverse));
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
  const auto kernel = aligned_for<float4>(x, y) ? softmax_on_chip<true> : softmax_on_chip<false>;
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
