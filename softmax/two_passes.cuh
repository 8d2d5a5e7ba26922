// The softmax of a vector that is much longer than the chip can keep: one kernel for the pair (max, sum), one for the
// results, as softmax_06 introduces them, for softmax 07 and row_softmax 11.
#pragma once
#include "float4_row.cuh"
#include "peeled.cuh"

namespace two_passes {

constexpr int kBlock = 512;
constexpr unsigned kFlight = 8;  // float4 of a thread in flight while it reads
constexpr int kScaleBlock = 256;

static __device__ unsigned blocks_done;  // tickets drawn; 0 between launches, of which one at a time may use it

// The pair of x, stored in pairs[gridDim.x]; before it the blocks' pairs.
static __global__ void __launch_bounds__(kBlock)
    pair_of_vector(const float* __restrict__ x, std::size_t n, MaxSum* __restrict__ pairs) {
  const Peeled<> part(x, n);
  const float4* const units = reinterpret_cast<const float4*>(x + part.head);
  const std::size_t threads = std::size_t{gridDim.x} * kBlock;
  const std::size_t thread = std::size_t{blockIdx.x} * kBlock + threadIdx.x;

  // load: kFlight float4 at a time, one maximum and one rescaling for all of them
  MaxSum s = {-INFINITY, 0.0f};
  std::size_t i = thread;
  for (; i + (kFlight - 1) * threads < part.units; i += kFlight * threads) {
    float4 v[kFlight];
#pragma unroll
    for (unsigned k = 0; k < kFlight; ++k) v[k] = units[i + k * threads];
    float max = s.max;
#pragma unroll
    for (unsigned k = 0; k < kFlight; ++k) max = fmaxf(max, max4(v[k]));
    const float shift = shift_for(max);
    s = {max, s.sum * expf(s.max - shift)};
#pragma unroll
    for (unsigned k = 0; k < kFlight; ++k) s.sum += sum4(exp4(v[k], shift));
  }
  for (; i < part.units; i += threads) s = merge(s, pair_of(units[i]));
  const std::size_t edge = part.edge(thread, n);
  if (edge < n) s = merge(s, {x[edge], 1.0f});
  s = block_merge<kBlock / 32>(s);

  // store the block's pair, draw a ticket; the block with the last one merges all pairs, in the same order every run
  __shared__ bool last;
  if (threadIdx.x == 0) {
    pairs[blockIdx.x] = s;
    __threadfence();
    last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 for the next launch
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  s = {-INFINITY, 0.0f};
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kBlock) {
    s = merge(s, {__ldcg(&pairs[b].max), __ldcg(&pairs[b].sum)});
  }
  s = block_merge<kBlock / 32>(s);
  if (threadIdx.x == 0) pairs[gridDim.x] = s;
}

// y from x and its pair, as a copy does it: a float4 per thread, and no loop. The first blocks take the end of x, which
// pair_of_vector read last: that part is still in L2.
static __global__ void __launch_bounds__(kScaleBlock)
    scale_vector(const float* __restrict__ x, float* __restrict__ y, std::size_t n, const MaxSum* __restrict__ pair) {
  const Peeled<> part(x, n);
  const std::size_t thread = std::size_t{gridDim.x - 1 - blockIdx.x} * kScaleBlock + threadIdx.x;
  const std::size_t i = part.head + 4 * thread, edge = part.edge(thread, n);
  const bool inside = thread < part.units;
  const float4 v = inside ? __ldcs(reinterpret_cast<const float4*>(x + i)) : float4{};
  const MaxSum s = *pair;
  const float inverse = 1.0f / s.sum;
  if (inside) store_unit(y + i, exp4(v, s.max, inverse), alike(x, y));
  if (edge < n) y[edge] = expf(x[edge] - s.max) * inverse;
}

// As many blocks as the GPU holds, or fewer if there are not kFlight float4 for each thread.
inline unsigned grid_size(std::size_t n) {
  const std::size_t resident = resident_blocks(pair_of_vector, kBlock);
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kFlight * kBlock), 1, resident));
}

inline void launch(const float* x, float* y, std::size_t n) {
  const unsigned grid = grid_size(n);
  MaxSum* const pairs = scratch<MaxSum>(grid + 1);
  pair_of_vector<<<grid, kBlock>>>(x, n, pairs);
  CUDA_CHECK(cudaGetLastError());
  // a block more than whole float4 need, for head and tail
  const auto blocks = static_cast<unsigned>(ceil_div(n / 4 + 8, kScaleBlock));
  scale_vector<<<blocks, kScaleBlock>>>(x, y, n, pairs + grid);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse and product. Denominator: exp, the additions of eight float4, and exp, product and addition
// for each merge: of eights, of at most kFlight - 1 single float4 and the edge in a thread, 5 and 5 in the block, the
// blocks' pairs in a thread, and 5 and 5 again.
inline std::size_t roundings(std::size_t n) {
  const std::size_t grid = grid_size(n), eights = n / (4 * kFlight * grid * kBlock);
  return 6 + 4 + 2 + kFlight + 6 * (eights + kFlight + 10 + ceil_div(grid, kBlock) + 10);
}

}  // namespace two_passes
