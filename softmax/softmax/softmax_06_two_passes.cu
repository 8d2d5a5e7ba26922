// Problem:  step 05 holds only 5 % of 2^28 floats, and its blocks, one per SM, are slower than a copy.
// Idea:     two kernels. One only reads, with eight float4 in flight; its last block merges the pairs. The other works
//           like a copy: a float4 per thread, starting at the end of x, which L2 may still hold.
// Expect:   1.05x step 05 at 2^28, 0.68 of a copy: a read and a copy at full rate. Shorter vectors are slower.
// Measured: 1.12x step 05, 0.66 of a copy at 2^28 (H200); 1.06x, 0.66 (H100).
// Next:     at which length does one kernel stop paying?
#include "softmax.cuh"
#include "peeled.cuh"
#include "../float4_row.cuh"

constexpr int kReadBlock = 512, kScaleBlock = 256;
constexpr unsigned kFlight = 8;  // float4 per thread in flight while it reads

__device__ static unsigned blocks_done;  // tickets drawn, 0 between launches; launches must not overlap

// Stores the pair of x in pairs[gridDim.x], and the blocks' pairs before it.
__global__ void __launch_bounds__(kReadBlock, 2)
    softmax_pair(const float* __restrict__ x, std::size_t n, MaxSum* __restrict__ pairs) {
  const Peeled<> part(x, n);
  const float4* const units = reinterpret_cast<const float4*>(x + part.head);
  const std::size_t threads = std::size_t{gridDim.x} * kReadBlock;
  const std::size_t thread = std::size_t{blockIdx.x} * kReadBlock + threadIdx.x;

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
  s = block_merge(s);

  // store the block's pair, draw a ticket; the block with the last ticket merges all pairs, in the same order every run
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
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kReadBlock) {
    s = merge(s, {__ldcg(&pairs[b].max), __ldcg(&pairs[b].sum)});
  }
  s = block_merge(s);
  if (threadIdx.x == 0) pairs[gridDim.x] = s;
}

// Computes y from x and its pair, a float4 per thread, without a loop. The first blocks take the end of x, read last.
__global__ void __launch_bounds__(kScaleBlock) softmax_scale_by_pair(const float* __restrict__ x, float* __restrict__ y,
                                                                     std::size_t n, const MaxSum* __restrict__ pair) {
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

// Returns two blocks per SM, or fewer if there are not kFlight float4 for each thread.
static unsigned blocks_that_read(std::size_t n) {
  const std::size_t most = 2 * static_cast<std::size_t>(sm_count());
  return static_cast<unsigned>(std::clamp<std::size_t>(ceil_div(n, 4 * kFlight * kReadBlock), 1, most));
}

static void launch_two_passes(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  const unsigned grid = blocks_that_read(n);
  MaxSum* const pairs = scratch<MaxSum>(grid + 1);
  softmax_pair<<<grid, kReadBlock>>>(x, n, pairs);
  CUDA_CHECK(cudaGetLastError());
  // threads for whole float4, and for at most 6 elements at the edges
  const auto blocks = static_cast<unsigned>(ceil_div(n / 4 + 8, kScaleBlock));
  softmax_scale_by_pair<<<blocks, kScaleBlock>>>(x, y, n, pairs + grid);
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: exp, inverse, product. Denominator: exp, additions; 6 per merge; 20 over the block; again for the pairs.
static std::size_t roundings_two_passes(std::size_t n) {
  const std::size_t grid = blocks_that_read(n), eights = n / (4 * kFlight * grid * kReadBlock);
  return 6 + 4 + 2 + kFlight + 6 * (eights + kFlight) + 20 + 6 * ceil_div(grid, std::size_t{kReadBlock}) + 20;
}

LADDER_STEP(Softmax, launch_two_passes, roundings_two_passes);
