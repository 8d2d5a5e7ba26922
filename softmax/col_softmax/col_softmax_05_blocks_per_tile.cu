// Problem:  step 04 reads three quarters of 16384 rows twice, and 128 columns are only 4 tiles, on 32 of 132 SMs.
// Idea:     a tile has as many blocks as its rows need. They pass pairs (max, sum) through global memory, and take
//           their numbers from a counter as they start, so that the blocks of a tile run at the same time.
// Expect:   1.3 to 1.5x step 04 at 16384 x 4096, 0.6 to 0.7 of a copy; 3x or more at 65536 x 128. 0.8 to 0.9x at 4096 x
//           4096: pairs take longer through global memory, and no tile is fetched ahead.
// Measured: 0.84x step 04, 0.68 of a copy at 4096x4096 (H200); 0.86x, 0.76 (H100).
// Next:     would you take step 04 or 05 for 8192 rows, and how would you find out?
#include "col_softmax.cuh"
#include "../online_softmax.cuh"

constexpr unsigned kRowsHeld = 32;  // rows per thread, in registers

// `blocks` blocks share a tile of kWidth columns; all of them must be resident at once. Each holds kGroups * kRowsHeld
// rows; the remaining rows are read twice. `counter` starts at ~0u; `pairs`, kWidth per block, at kNoPair.
template <unsigned kWidth, unsigned kThreads>
__global__ void __launch_bounds__(kThreads, 1024 / kThreads)
    col_softmax_blocks_per_tile(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                                unsigned blocks, unsigned long long* pairs, unsigned* counter) {
  constexpr unsigned kGroups = kThreads / kWidth;  // rows that a block reads at once
  static_assert(kGroups <= 32, "a column's pairs are merged within a warp");
  __shared__ MaxSum parts[kGroups][kWidth + 1], totals[kWidth];
  __shared__ unsigned number;
  const unsigned tid = threadIdx.x, c = tid % kWidth, group = tid / kWidth;
  if (tid == 0) number = atomicAdd(counter, 1) + 1;
  __syncthreads();
  const unsigned tile = number / blocks, rank = number % blocks;
  const std::size_t col = std::size_t{tile} * kWidth + c, step = kGroups * cols;
  const std::size_t end = col < cols ? rows : 0;  // no return: all threads must reach the barriers
  const std::size_t first = std::size_t{rank} * kGroups * kRowsHeld + group;
  const auto count =
      static_cast<unsigned>(first < end ? min((end - first - 1) / kGroups + 1, std::size_t{kRowsHeld}) : 0);
  x += col;
  y += col;

  // rows that no block holds, by the online rule
  const std::size_t remainder = std::size_t{blocks} * kGroups * kRowsHeld + rank * kGroups + group;
  MaxSum s = {-INFINITY, 0.0f};
#pragma unroll 4
  for (std::size_t r = remainder; r < end; r += blocks * kGroups) s = merge(s, {x[r * cols], 1.0f});

  // load: 32 independent loads; then the maximum, and one exp per element in place
  float v[kRowsHeld];
  const float* const from = x + first * cols;
#pragma unroll
  for (unsigned k = 0; k < kRowsHeld; ++k) v[k] = k < count ? from[k * step] : -INFINITY;
  float max = s.max;
#pragma unroll
  for (unsigned k = 0; k < kRowsHeld; ++k) max = fmaxf(max, v[k]);
  float sum = s.sum * expf(s.max - shift_for(max));
#pragma unroll
  for (unsigned k = 0; k < kRowsHeld; ++k) sum += v[k] = expf(v[k] - shift_for(max));

  // merge: neighbouring lanes take the pairs of one column, of the block's groups and then of the tile's blocks
  const unsigned column = tid / kGroups, part = tid % kGroups;
  const auto over_groups = [&](MaxSum pair) {
    parts[group][c] = pair;
    __syncthreads();
    pair = warp_merge<kGroups>(parts[part][column]);
    __syncthreads();
    return pair;
  };
  s = over_groups({max, sum});
  if (blocks > 1) {
    pairs += std::size_t{tile} * blocks * kWidth;
    if (part == 0) publish(pairs + rank * kWidth + column, s);
    s = {-INFINITY, 0.0f};
    for (unsigned b = group; b < blocks; b += kGroups) s = merge(s, await(pairs + b * kWidth + c));
    s = over_groups(s);
  }
  if (part == 0) totals[column] = s;
  __syncthreads();
  s = totals[c];

  // store
  const float factor = expf(max - s.max) / s.sum;
  float* const to = y + first * cols;
#pragma unroll
  for (unsigned k = 0; k < kRowsHeld; ++k) {
    if (k < count) __stcs(to + k * step, v[k] * factor);
  }
#pragma unroll 4
  for (std::size_t r = remainder; r < end; r += blocks * kGroups) y[r * cols] = expf(x[r * cols] - s.max) / s.sum;
}

// Returns the blocks of a tile: as many as the rows need, but no more than are resident with 1024 threads per SM.
template <unsigned kWidth, unsigned kThreads>
static std::size_t blocks_of_tile(std::size_t rows) {
  const std::size_t resident = 1024 / kThreads * static_cast<std::size_t>(sm_count());
  return std::clamp<std::size_t>(ceil_div(rows, kThreads / kWidth * kRowsHeld), 1, resident);
}

template <unsigned kWidth, unsigned kThreads>
static void launch_blocks(const float* x, float* y, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const std::size_t blocks = blocks_of_tile<kWidth, kThreads>(rows), grid = ceil_div(cols, kWidth) * blocks;
  const std::size_t words = blocks > 1 ? grid * kWidth : 0;
  auto* const pairs = scratch<unsigned long long>(words + 1);
  CUDA_CHECK(cudaMemsetAsync(pairs, 0xff, (words + 1) * sizeof *pairs));  // also the counter
  col_softmax_blocks_per_tile<kWidth, kThreads><<<static_cast<unsigned>(grid), kThreads>>>(
      x, y, rows, cols, static_cast<unsigned>(blocks), pairs, reinterpret_cast<unsigned*>(pairs + words));
  CUDA_CHECK(cudaGetLastError());
}

// Numerator: 2 exps, division, product. Denominator: 6 per merge of the remainder, exp and product for its sum; exp and
// an addition per held element; 10 over the groups, 6 per merge of the blocks' pairs, 10 over the groups.
template <unsigned kWidth, unsigned kThreads>
static std::size_t roundings_blocks(std::size_t rows) {
  constexpr std::size_t groups = kThreads / kWidth;
  const std::size_t blocks = blocks_of_tile<kWidth, kThreads>(rows), held = blocks * groups * kRowsHeld;
  const std::size_t remainder = ceil_div(rows - std::min(rows, held), blocks * groups);
  return 10 + 6 * remainder + 5 + 4 + kRowsHeld + 10 + 6 * ceil_div(blocks, groups) + 10;
}

static void launch_blocks_32(const float* x, float* y, std::size_t rows, std::size_t cols) {
  launch_blocks<32, 512>(x, y, rows, cols);
}

LADDER_STEP(ColSoftmax, launch_blocks_32, roundings_blocks<32, 512>);
