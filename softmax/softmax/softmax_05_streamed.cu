// Problem:  step 04 loads all that it holds before its first exp; then memory idles during the exps.
// Idea:     merge each float4 as it arrives, with six more in flight behind it. Only what stays in registers is left
//           for the end: 12 float4 in each of 768 threads, beside the six.
// Expect:   1.1 to 1.3x step 04 at 2^24, 0.8 of a copy or more: exps take a third of the time before the barrier.
//           1.0 to 1.2x at 2^28.
// Measured: 1.20x step 04, 0.84 of a copy at 2^24 (H200); 1.11x, 0.89 (H100).
// Next:     nearly all of 2^28 floats are read twice. Which kernels would you write if all of them were?
#include "softmax.cuh"
#include "peeled.cuh"
#include "../float4_row.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 768;        // one block per SM
constexpr unsigned kKept = 12;     // float4 per thread in registers
constexpr unsigned kInFlight = 6;  // float4 per thread in flight while it works on another

// A chunk is a float4 per thread of the grid: kKept stay in registers, `chunks` in shared memory; the others are
// streamed first and read again. `pairs` has one per block; other blocks write it, so it isn't const __restrict__.
__global__ void __launch_bounds__(kBlock, 1) softmax_streamed(const float* __restrict__ x, float* __restrict__ y,
                                                              std::size_t n, MaxSum* pairs, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  const unsigned tid = threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * kBlock, thread = std::size_t{blockIdx.x} * kBlock + tid;
  const Peeled<> part(x, n);
  const float4* const from = reinterpret_cast<const float4*>(x + part.head) + thread;
  float* const to = y + part.head + 4 * thread;
  // this thread's number of float4, and how many of them are read again
  const auto count = static_cast<unsigned>(thread < part.units ? (part.units - thread - 1) / threads + 1 : 0);
  const unsigned again = count - min(count, kKept + chunks);
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  const bool aligned = alike(x, y);

  // stream: first chunks that are read again, by plain loads, so that L2 may hold them; then those for shared memory
  const auto load = [&](unsigned j) {
    const unsigned k = j < again ? kKept + chunks + j : kKept + j - again;
    if (j >= again + chunks || k >= count) return none;
    return j < again ? from[k * threads] : __ldcs(from + k * threads);
  };
  MaxSum s = {-INFINITY, 0.0f};
  float4 w[kInFlight];
#pragma unroll
  for (unsigned k = 0; k < kInFlight; ++k) w[k] = load(k);
  for (unsigned j0 = 0; j0 < again + chunks; j0 += kInFlight) {
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const unsigned j = j0 + k;
      const float4 v = w[k];
      w[k] = load(j + kInFlight);
      const float max = fmaxf(s.max, max4(v)), shift = shift_for(max);
      s = {max, s.sum * expf(s.max - shift) + sum4(exp4(v, shift))};
      if (j >= again && j < again + chunks) shared[(j - again) * kBlock + tid] = v;
    }
  }

  // what stays in registers: the maximum, then one exp per element; the edge
  float4 v[kKept];
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = k < count ? __ldcs(from + k * threads) : none;
  float max = s.max;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  const float shift = shift_for(max);
  s = {max, s.sum * expf(s.max - shift)};
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) s.sum += sum4(exp4(v[k], shift));
  const std::size_t edge = part.edge(thread, n);
  if (edge < n) s = merge(s, {x[edge], 1.0f});
  s = block_merge(s);
  if (tid == 0) pairs[blockIdx.x] = s;

  cg::this_grid().sync();  // every block has stored its pair, and every block sees all of them

  // merge the blocks' pairs
  s = {-INFINITY, 0.0f};
  for (unsigned b = tid; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge(s);

  // store: first the float4 that are read again, because they may still be in L2
  const float inverse = 1.0f / s.sum;
  const auto store = [&](unsigned k, float4 u) {
    if (k < count) store_unit(to + 4 * (k * threads), exp4(u, s.max, inverse), aligned);
  };
#pragma unroll 4
  for (unsigned k = kKept + chunks; k < count; ++k) store(k, __ldcs(from + k * threads));
  if (edge < n) y[edge] = expf(x[edge] - s.max) * inverse;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) store(k, v[k]);
#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) store(kKept + k, shared[k * kBlock + tid]);
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::min<std::size_t>(ceil_div(n, 4 * kBlock), sm_count()));
}

static std::size_t chunks_of(std::size_t n) {
  return ceil_div(n, std::size_t{4} * kBlock * std::max(grid_size(n), 1u));
}

static void launch_streamed(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = grid_size(n);
  // shared memory holds what registers do not: 227 KB is the largest limit of today's GPUs, 1 KB is for block_merge
  const int free = std::min(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 << 10) - (1 << 10);
  const std::size_t most = free / (kBlock * sizeof(float4)), all = chunks_of(n);
  auto chunks = static_cast<unsigned>(std::min(all - std::min<std::size_t>(all, kKept), most));
  MaxSum* pairs = scratch<MaxSum>(grid);
  void* arguments[] = {&x, &y, &n, &pairs, &chunks};
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(softmax_streamed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CUDA_CHECK(cudaLaunchCooperativeKernel(softmax_streamed, dim3(grid), dim3(kBlock), arguments, bytes, nullptr));
}

// Numerator: exp, inverse, product. Denominator: exp, additions; 6 per merge; 20 over the block; again for the pairs.
static std::size_t roundings_streamed(std::size_t n) {
  const std::size_t grid = grid_size(n);
  return 6 + 4 + 2 + kKept + 6 * (chunks_of(n) + 2) + 20 + 6 * ceil_div(grid, std::size_t{kBlock}) + 20;
}

LADDER_STEP(Softmax, launch_streamed, roundings_streamed);
