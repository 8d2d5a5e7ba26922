// Teams of blocks, as col_softmax_05 introduces them, for col_softmax 05 and 06.
#pragma once
#include "../row_relay.cuh"  // publish, await

// A tile is kWidth columns wide; `team` blocks share it. Each keeps kGroups * kKept rows, kKept in a thread. Blocks
// take their parts by tickets, in the order in which they start, so a team's blocks start one after the other. A team
// is no larger than what fits on the GPU; so the first team that has not ended is complete, or its blocks start next.
// Of the rows that no block keeps kAtOnce are loaded at a time. `ticket` starts at ~0u, `pairs` at row_relay::kEmpty:
// kWidth for each part.
template <unsigned kBlock, unsigned kWidth, unsigned kKept, unsigned kPerSm, unsigned kAtOnce>
__global__ void __launch_bounds__(kBlock, kPerSm)
    col_softmax_team(const float* __restrict__ x, float* __restrict__ y, std::size_t rows, std::size_t cols,
                     unsigned team, unsigned long long* pairs, unsigned* ticket) {
  constexpr unsigned kGroups = kBlock / kWidth;  // rows that a block reads at once
  static_assert(kGroups <= 32, "a column's pairs are merged within a warp");
  __shared__ float2 parts[kGroups][kWidth + 1], others[kGroups][kWidth + 1], totals[kWidth];
  __shared__ unsigned number;
  const unsigned tid = threadIdx.x, c = tid % kWidth, group = tid / kWidth;
  if (tid == 0) number = atomicAdd(ticket, 1) + 1;
  __syncthreads();
  const unsigned tile = number / team, rank = number % team;
  const std::size_t col = std::size_t{tile} * kWidth + c, step = kGroups * cols;
  const std::size_t first = std::size_t{rank} * kGroups * kKept + group, kept = std::size_t{team} * kGroups * kKept;
  const std::size_t end = col < cols ? rows : 0;
  const auto count = static_cast<unsigned>(first < end ? min((end - first - 1) / kGroups + 1, std::size_t{kKept}) : 0);
  x += col;
  y += col;

  // rows that no block keeps, by the online rule
  MaxSum s = {-INFINITY, 0.0f};
  const std::size_t remainder = kept + rank * kGroups + group, stride = team * kGroups;
#pragma unroll(kAtOnce)
  for (std::size_t r = remainder; r < end; r += stride) s = merge(s, {x[r * cols], 1.0f});

  // load; the maximum first, then one exp per element
  float v[kKept];
  const float* from = x + first * cols;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) v[k] = k < count ? from[k * step] : -INFINITY;
  float max = s.max;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) max = fmaxf(max, v[k]);
  float sum = s.sum * expf(s.max - shift_for(max));
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) sum += v[k] = expf(v[k] - shift_for(max));

  // merge: neighbouring lanes take the pairs of a column, of the block's groups and then of the team's blocks
  const unsigned column = tid / kGroups, part = tid % kGroups;
  const auto merged = [&](const float2(&from)[kGroups][kWidth + 1]) {
    const float2 pair = from[part][column];
    return group_merge<kGroups>({pair.x, pair.y});
  };
  parts[group][c] = make_float2(max, sum);
  __syncthreads();
  s = merged(parts);
  if (team > 1) {
    pairs += std::size_t{tile} * team * kWidth;
    if (part == 0) row_relay::publish(pairs + rank * kWidth + column, s);
    s = {-INFINITY, 0.0f};
    for (unsigned b = group; b < team; b += kGroups) s = merge(s, row_relay::await(pairs + b * kWidth + c));
    others[group][c] = make_float2(s.max, s.sum);
    __syncthreads();
    s = merged(others);
  }
  if (part == 0) totals[column] = make_float2(s.max, s.sum);
  __syncthreads();

  // store
  const float2 total = totals[c];
  const float factor = expf(max - total.x) / total.y;
  float* to = y + first * cols;
#pragma unroll
  for (unsigned k = 0; k < kKept; ++k) {
    if (k < count) __stcs(to + k * step, v[k] * factor);
  }
#pragma unroll(kAtOnce)
  for (std::size_t r = remainder; r < end; r += stride) y[r * cols] = expf(x[r * cols] - total.x) / total.y;
}

template <unsigned kBlock, unsigned kWidth, unsigned kKept, unsigned kPerSm, unsigned kAtOnce = 1>
struct Team {
  static constexpr unsigned kGroups = kBlock / kWidth;
  static constexpr auto kKernel = col_softmax_team<kBlock, kWidth, kKept, kPerSm, kAtOnce>;

  // Of a team: as many as the rows need, but no more than fit on the GPU at once.
  static std::size_t blocks(std::size_t rows) {
    const std::size_t needed = ceil_div(rows, kGroups * kKept);
    return std::min({needed, resident_blocks(kKernel, kBlock), std::size_t{kPerSm} * sm_count()});
  }
  static void start(const float* x, float* y, std::size_t rows, std::size_t cols) {
    const std::size_t team = blocks(rows), parts = ceil_div(cols, kWidth) * team, words = team > 1 ? parts * kWidth : 0;
    auto* const pairs = scratch<unsigned long long>(words + 1);
    CUDA_CHECK(cudaMemsetAsync(pairs, 0xff, (words + 1) * sizeof *pairs));
    kKernel<<<static_cast<unsigned>(parts), kBlock>>>(x, y, rows, cols, static_cast<unsigned>(team), pairs,
                                                      reinterpret_cast<unsigned*>(pairs + words));
    CUDA_CHECK(cudaGetLastError());
  }
  // Numerator: exp twice, division and product. Denominator: exp, product and addition for each element of the
  // remainder, exp and product for their sum; exp, and an addition for each element that is kept; then, with exp and
  // product, over the groups, over the team's pairs one after the other, and over the groups again.
  static std::size_t team_roundings(std::size_t rows) {
    const std::size_t team = blocks(rows), kept = std::min<std::size_t>(rows, team * kGroups * kKept);
    const std::size_t remainder = ceil_div(rows - kept, std::max<std::size_t>(team * kGroups, 1));
    return 10 + 6 * remainder + 5 + 4 + kKept + (5 + 5) + 6 * ceil_div(team, kGroups) + (5 + 5);
  }
};

using Rows4 = Team<256, 256, 4, 4>;
using Rows16 = Team<256, 256, 16, 4>;
using Rows64 = Team<256, 128, 32, 4>;
using Wide = Team<512, 128, 32, 2>;
using Narrow = Team<512, 32, 32, 2>;
using FewColumns = Team<256, 8, 32, 4>;
