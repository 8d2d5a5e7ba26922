// Problem:  step 05 takes the maximum of all that it keeps before the first exp, so memory waits for the exps.
// Idea:     the online rule for each float4 as it arrives, six more in flight behind it; 768 threads with 12 float4
//           in registers keep more than 1024 with 8. Step 06 for vectors far beyond what the SMs and L2 hold.
// Expect:   1.1 to 1.2x step 05 at 2^24: the exps take a third of its first phase. As step 06 at 2^28.
// Measured: 1.39x step 06, 814x cuDNN at 2^24 (H200); 1.38x, 628x (H100).
// Next:     the first y needs the last x. Which of the two transfers can still overlap with anything?
#include "softmax.cuh"
#include "../two_passes.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kBlock = 768;        // one block per SM
constexpr unsigned kKept = 12;     // float4 of each thread in registers
constexpr unsigned kInFlight = 6;  // float4 of a thread on their way while it works on another

// Chunks of one float4 for each thread of the grid: kKept stay in registers, `chunks` in shared memory; the others are
// streamed first, and read again. `pairs` has room for one per block. It is not const __restrict__: other blocks write
// it while this kernel runs. n < 2^32.
__global__ void __launch_bounds__(kBlock, 1) softmax_streamed(const float* __restrict__ x, float* __restrict__ y,
                                                              std::size_t n, MaxSum* pairs, unsigned chunks) {
  extern __shared__ float4 shared[];  // [chunk][thread]
  const unsigned tid = threadIdx.x, threads = gridDim.x * kBlock, thread = blockIdx.x * kBlock + tid;
  const Peeled<> part(x, n);
  const float4* const from = reinterpret_cast<const float4*>(x + part.head);
  float* const to = y + part.head;
  const auto units = static_cast<unsigned>(part.units);
  const unsigned all = ceil_div(units, threads), again = all - min(all, kKept + chunks);
  const float4 none = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  const bool aligned = alike(x, y);

  // stream: chunks that are read again, by plain loads, so that L2 may keep them; then those for shared memory
  const auto load = [&](unsigned j) {
    const unsigned i = (j < again ? kKept + chunks + j : kKept + j - again) * threads + thread;
    if (j >= again + chunks || i >= units) return none;
    return j < again ? from[i] : __ldcs(from + i);
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
  for (unsigned k = 0; k < kKept; ++k) v[k] = k * threads + thread < units ? __ldcs(from + k * threads + thread) : none;
  float max = s.max;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, max4(v[k]));
  const float shift = shift_for(max);
  s = {max, s.sum * expf(s.max - shift)};
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) s.sum += sum4(exp4(v[k], shift));
  const std::size_t edge = part.edge(thread, n);
  if (edge < n) s = merge(s, {x[edge], 1.0f});
  s = block_merge<kBlock / 32>(s);
  if (tid == 0) pairs[blockIdx.x] = s;

  cg::this_grid().sync();  // every block has stored its pair, and every block sees all of them

  // merge the blocks' pairs
  s = {-INFINITY, 0.0f};
  for (unsigned b = tid; b < gridDim.x; b += kBlock) s = merge(s, pairs[b]);
  s = block_merge<kBlock / 32>(s);

  // store: what is read again first, which may still be in L2
  const float inverse = 1.0f / s.sum;
  const auto store = [&](unsigned k, float4 u) {
    const unsigned i = k * threads + thread;
    if (i < units) store_unit(to + 4 * std::size_t{i}, exp4(u, s.max, inverse), aligned);
  };
#pragma unroll 4
  for (unsigned k = kKept + chunks; k < all; ++k) {
    store(k, k * threads + thread < units ? __ldcs(from + k * threads + thread) : none);
  }
  if (edge < n) y[edge] = expf(x[edge] - s.max) * inverse;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) store(k, v[k]);
#pragma unroll 4
  for (unsigned k = 0; k < chunks; ++k) store(kKept + k, shared[k * kBlock + tid]);
}

static unsigned grid_size(std::size_t n) {
  return static_cast<unsigned>(std::min<std::size_t>(ceil_div(n, 4 * kBlock), sm_count()));
}

// Chunks that one SM's shared memory holds.
static unsigned most_chunks() {
  const int bytes = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) - (1 << 10);  // 1 KB for `warps`
  return static_cast<unsigned>(bytes / (kBlock * sizeof(float4)));
}

// Chunks in shared memory: of those that registers do not hold.
static unsigned shared_chunks(std::size_t n) {
  const std::size_t all = ceil_div(n, std::size_t{4} * kBlock * std::max(grid_size(n), 1u));
  return static_cast<unsigned>(std::min<std::size_t>(all - std::min<std::size_t>(all, kKept), most_chunks()));
}

// Beyond twice what the SMs and L2 hold together, little of the second read is saved, and two kernels are faster.
static bool in_two_passes(std::size_t n) {
  const std::size_t on_sms = std::size_t{kKept + most_chunks()} * kBlock * sizeof(float4) * sm_count();
  return n * sizeof(float) > 2 * (on_sms + device_attribute(cudaDevAttrL2CacheSize));
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  if (in_two_passes(n)) return two_passes::launch(x, y, n);
  const unsigned grid = grid_size(n);
  unsigned chunks = shared_chunks(n);
  MaxSum* pairs = scratch<MaxSum>(grid);
  void* arguments[] = {&x, &y, &n, &pairs, &chunks};
  const auto bytes = static_cast<int>(chunks * kBlock * sizeof(float4));
  CUDA_CHECK(cudaFuncSetAttribute(softmax_streamed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CUDA_CHECK(cudaLaunchCooperativeKernel(softmax_streamed, dim3(grid), dim3(kBlock), arguments, bytes, nullptr));
}

// Numerator: exp, inverse and product. Denominator: exp and additions of what is in registers, and exp, product and
// addition for each merge: of the streamed chunks, whose four elements are two more additions, what is in registers,
// the edge, 5 and 5 in the block, the blocks' pairs in a thread, and 5 and 5 again.
static std::size_t roundings(std::size_t n) {
  if (in_two_passes(n)) return two_passes::roundings(n);
  const std::size_t grid = std::max(grid_size(n), 1u), chunks = ceil_div(n, 4 * grid * kBlock);
  return 6 + 4 + 2 + kKept + 6 * (chunks + 2 + 10 + ceil_div(grid, kBlock) + 10);
}

LADDER_STEP(Softmax, launch, roundings);
