// Long rows, for the last steps of the norms: a team of blocks anywhere on the GPU takes a row, and another. What the
// blocks find of it passes through global memory.
#pragma once
#include "norm_row.cuh"
#include "norm_shapes.hpp"

namespace norm_teams {

// What a block found, its mean and its squares, in 64 bits, which are read and written at once. kEmpty is a NaN too.
constexpr unsigned long long kEmpty = ~0ull;

__device__ inline void publish(unsigned long long* to, float mean, float squares) {
  const auto high = static_cast<unsigned long long>(__float_as_uint(mean));
  const unsigned long long bits = high << 32 | __float_as_uint(squares);
  atomicExch(to, bits == kEmpty ? kEmpty - 1 : bits);
}
// Waits until a block has published. All blocks of the grid are resident, so it will.
__device__ inline Moments await(const unsigned long long* from, float n) {
  const volatile unsigned long long* const slot = from;
  unsigned long long bits = *slot;
  while (bits == kEmpty) {
    __nanosleep(20);
    bits = *slot;
  }
  return {n, __uint_as_float(static_cast<unsigned>(bits >> 32)), __uint_as_float(static_cast<unsigned>(bits))};
}

// The parts of a block's warps, merged, returned to every thread. All threads must call it. `warps` may be written
// again after the block's next barrier.
template <Norm kNorm>
__device__ Moments merge_warps(Moments m, float4 (&warps)[kTeamBlock / 32]) {
  const unsigned lane = threadIdx.x % 32;
  if (lane == 0) warps[threadIdx.x / 32] = {m.n, m.mean, m.squares, 0.0f};
  __syncthreads();
  const float4 warp = lane < kTeamBlock / 32 ? warps[lane] : float4{};
  return merge_lanes<kNorm>({warp.x, warp.y, warp.z});
}

// Brings `bytes` from p on, both multiples of 16, to L2, where the GPU has the instruction (PTX ISA 9.0, section
// 9.7.9.25).
__device__ inline void prefetch([[maybe_unused]] const float* p, [[maybe_unused]] unsigned bytes) {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  if (bytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes) : "memory");
#endif
#endif
}

// The part of a row that block `rank` of a team has: `count` float4 from `begin` on. The first block takes the row's
// edges too.
struct Piece {
  Peeled<128> row;
  unsigned count;
  std::size_t begin;
  __device__ Piece(const float* x, std::size_t cols, unsigned rank, unsigned share) : row(x, cols) {
    const std::size_t first = min(std::size_t{rank} * share, row.units);
    count = static_cast<unsigned>(min(row.units - first, std::size_t{share}));
    begin = row.head + 4 * first;
  }
  // The number of elements of block `other`.
  __device__ float elements(unsigned other, unsigned share) const {
    const std::size_t first = min(std::size_t{other} * share, row.units);
    const std::size_t units = min(row.units - first, std::size_t{share});
    return static_cast<float>(4 * units + (other == 0 ? row.head + row.tail : 0));
  }
};

constexpr unsigned scale_arrays(Norm norm) { return norm == Norm::layer ? 2 : 1; }
// Blocks of an SM. With gamma and beta 64 KB of shared memory each, and three fit.
constexpr unsigned per_sm(Norm norm, bool scales) { return scales && norm == Norm::layer ? 3 : 4; }
// Floats of gamma for a block: those of its share, and a line more, as rows start anywhere in a line.
__host__ __device__ constexpr unsigned scale_room(unsigned share) { return 4 * share + 32; }

// See TeamPlan; the grid is teams * team blocks, all resident. Up to `ahead` float4 of a block's part of its next row
// come to L2 while the team merges this one. `parts` has room for rows * team, all kEmpty.
template <Norm kNorm, bool kScales>
__global__ void __launch_bounds__(kTeamBlock, per_sm(kNorm, kScales))
    norm_team(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
              float* __restrict__ residual, float* __restrict__ y, std::size_t rows, std::size_t cols, unsigned team,
              unsigned share, unsigned chunks, unsigned ahead, unsigned long long* parts, float epsilon) {
  extern __shared__ float4 shared[];  // gamma and beta of the block's columns; or [chunk][thread] of the row
  __shared__ float4 warps[2][kTeamBlock / 32];
  const unsigned tid = threadIdx.x, rank = blockIdx.x % team, teams = gridDim.x / team;
  std::size_t row = blockIdx.x / team;
  const auto fetch = [&](std::size_t next) {
    if (tid != 0 || next >= rows) return;
    const Piece piece(x + next * cols, cols, rank, share);
    const unsigned bytes = min(piece.count, ahead) * static_cast<unsigned>(sizeof(float4));
    prefetch(x + next * cols + piece.begin, bytes);
    if (kNorm == Norm::add_rms && alike(x, residual)) prefetch(residual + next * cols + piece.begin, bytes);
  };
  fetch(row);

  // gamma and beta of the block's columns, whose first is rank * 4 * share; a row's are up to 31 further on
  float* const scale = reinterpret_cast<float*>(shared);
  const unsigned room = scale_room(share);
  if constexpr (kScales) {
    const std::size_t column = std::size_t{rank} * 4 * share;
    for (unsigned i = tid; i < room && column + i < cols; i += kTeamBlock) {
      scale[i] = gamma[column + i];
      if (kNorm == Norm::layer) scale[room + i] = beta[column + i];
    }
  }

  for (; row < rows; row += teams) {
    const std::size_t skip = row * cols;
    const Piece piece(x + skip, cols, rank, share);
    const float* const from = x + skip + piece.begin;
    float *const sum = residual + skip + piece.begin, *const to = y + skip + piece.begin;
    const std::size_t at = rank == 0 ? piece.row.edge(tid, cols) : cols;
    const bool same = alike(x, residual);
    const auto load = [&](unsigned i) { return load_row<kNorm>(from + 4 * i, sum + 4 * i, same); };

    // load what is kept
    for (unsigned k = 0; !kScales && k < chunks; ++k) {
      const unsigned i = (kTeamKept + k) * kTeamBlock + tid;
      shared[k * kTeamBlock + tid] = i < piece.count ? load(i) : float4{};
    }
    float4 v[kTeamKept];
#pragma unroll
    for (unsigned k = 0; k < kTeamKept; ++k) {
      const unsigned i = k * kTeamBlock + tid;
      v[k] = i < piece.count ? load(i) : float4{};
    }
    const float edge = at < cols ? load_row<kNorm>(x + skip + at, residual + skip + at) : 0.0f;
    const unsigned kept = (kTeamKept + chunks) * kTeamBlock;

    // what the warp keeps of the row: the number of elements, their mean, the squared distances from it
    Moments m = {0.0f, 0.0f, 0.0f};
    if constexpr (kNorm == Norm::layer) {
      const unsigned end = min(piece.count, kept), mine = end > tid ? (end - tid - 1) / kTeamBlock + 1 : 0;
      float total = edge;
#pragma unroll
      for (unsigned k = 0; k < kTeamKept; ++k) total += sum4(v[k]);
      for (unsigned k = 0; !kScales && k < chunks; ++k) total += sum4(shared[k * kTeamBlock + tid]);
      m.n = lanes_sum<32>(static_cast<float>(4 * mine + (at < cols ? 1 : 0)));
      m.mean = lanes_sum<32>(total) / fmaxf(m.n, 1.0f);
    }
    if (at < cols) m.squares = (edge - m.mean) * (edge - m.mean);
#pragma unroll
    for (unsigned k = 0; k < kTeamKept; ++k) {
      if (k * kTeamBlock + tid < piece.count) m.squares += squares_of<kNorm>(v[k], m.mean);
    }
    for (unsigned k = 0; !kScales && k < chunks; ++k) {
      if ((kTeamKept + k) * kTeamBlock + tid >= piece.count) break;
      m.squares += squares_of<kNorm>(shared[k * kTeamBlock + tid], m.mean);
    }
    m.squares = lanes_sum<32>(m.squares);

    // what no block keeps: a float4 after another, then the lanes
    if (!kScales && piece.count > kept) {
      Moments rest = {0.0f, 0.0f, 0.0f};
#pragma unroll 4
      for (unsigned i = kept + tid; i < piece.count; i += kTeamBlock) {
        const float4 u = load(i);
        const float mean = kNorm == Norm::layer ? sum4(u) / 4.0f : 0.0f;
        rest = merge(rest, {4.0f, mean, squares_of<kNorm>(u, mean)});
      }
      m = merge(m, merge_lanes<kNorm>(rest));
    }

    // merge the warps, publish; meanwhile the next row comes to L2; merge the blocks
    m = merge_warps<kNorm>(m, warps[0]);
    if (tid == 0) publish(&parts[row * team + rank], m.mean, m.squares);
    fetch(row + teams);
    m = {0.0f, 0.0f, 0.0f};
    for (unsigned b = tid; b < team; b += kTeamBlock) {
      m = merge(m, await(&parts[row * team + b], piece.row.units > 0 || b == 0 ? piece.elements(b, share) : 0.0f));
    }
    m = merge_warps<kNorm>(merge_lanes<kNorm>(m), warps[1]);

    // scale, shift, store: first what is read again, from its end on, which may still be in L2
    const float factor = rsqrtf(m.squares / static_cast<float>(cols) + epsilon);
    const float* const g = kScales ? scale + piece.row.head : gamma + piece.begin;
    const float* const b = kScales ? scale + room + piece.row.head : beta + piece.begin;
    const bool whole = alike(x + skip, y + skip);
    const bool scales = kScales ? piece.row.head % 4 == 0 : alike(from, g) && (kNorm != Norm::layer || alike(from, b));
    const auto store = [&](unsigned i, float4 u) {
      if (i < piece.count)
        store_unit(to + 4 * i, normed<kNorm>(u, m.mean, factor, g + 4 * i, b + 4 * i, scales), whole);
    };
    if (!kScales && piece.count > kept + tid) {
      for (unsigned i = (piece.count - kept - tid - 1) / kTeamBlock * kTeamBlock + kept + tid; i >= kept;
           i -= kTeamBlock) {
        store(i, load_unit((kNorm == Norm::add_rms ? sum : from) + 4 * i, kNorm != Norm::add_rms || same));
      }
    }
    if (at < cols) y[skip + at] = normed<kNorm>(edge, m.mean, factor, gamma + at, beta + at);
#pragma unroll
    for (unsigned k = 0; k < kTeamKept; ++k) store(k * kTeamBlock + tid, v[k]);
    for (unsigned k = 0; !kScales && k < chunks; ++k) {
      store((kTeamKept + k) * kTeamBlock + tid, shared[k * kTeamBlock + tid]);
    }
  }
}

// Bytes of shared memory that a block of `per_sm` on an SM may ask for, besides 1 KB that the system takes and `warps`.
inline std::size_t shared_for(unsigned blocks) {
  const std::size_t sm = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks;
  const std::size_t block = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return std::min(sm - 1024, block) - 2 * sizeof(float4) * (kTeamBlock / 32);
}

template <Norm kNorm, bool kScales>
std::size_t resident(std::size_t bytes) {
  const auto kernel = norm_team<kNorm, kScales>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  return resident_blocks(kernel, kTeamBlock, bytes);
}

template <Norm kNorm>
TeamPlan plan_for(std::size_t rows, std::size_t cols) {
  const std::size_t scales = scale_arrays(kNorm) * scale_room(kTeamShare) * sizeof(float);
  const bool fits = scales <= shared_for(per_sm(kNorm, true));
  const auto most = static_cast<unsigned>(shared_for(per_sm(kNorm, false)) / (kTeamBlock * sizeof(float4)));
  return team_plan(rows, cols, fits ? resident<kNorm, true>(scales) : 0,
                   resident<kNorm, false>(most * kTeamBlock * sizeof(float4)), most);
}

// rows and cols are not 0. beta is gamma, residual y where the norm has none.
template <Norm kNorm>
void launch(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
            std::size_t cols, float epsilon) {
  TeamPlan plan = plan_for<kNorm>(rows, cols);
  unsigned long long* parts = scratch<unsigned long long>(rows * plan.team);
  CUDA_CHECK(cudaMemsetAsync(parts, 0xff, rows * plan.team * sizeof *parts));
  // a quarter of L2 for all blocks together
  const unsigned grid = plan.teams * plan.team;
  auto ahead = static_cast<unsigned>(std::min<std::size_t>(l2_bytes() / 4 / sizeof(float4) / grid, plan.share));
  void* arguments[] = {&x,         &gamma,      &beta,        &residual, &y,     &rows,   &cols,
                       &plan.team, &plan.share, &plan.chunks, &ahead,    &parts, &epsilon};
  const auto kernel = plan.scales ? norm_team<kNorm, true> : norm_team<kNorm, false>;
  const std::size_t bytes = plan.scales ? scale_arrays(kNorm) * scale_room(plan.share) * sizeof(float)
                                        : plan.chunks * kTeamBlock * sizeof(float4);
  CUDA_CHECK(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(kTeamBlock), arguments, bytes, nullptr));
}

// The longest sum of one row: what a thread keeps and its edge, two levels in a float4, 5 in a warp, what is merged one
// after another, 5 over the warps; the blocks in a thread, 5 in a warp, 5 over the warps. Of one row the shares are the
// smallest; of more they are larger only as long as registers hold them.
struct Heights {
  std::size_t kept, rest, blocks;
};
template <Norm kNorm>
Heights heights(std::size_t cols) {
  const TeamPlan plan = plan_for<kNorm>(1, cols);
  const std::size_t chunks = std::max<std::size_t>(ceil_div(plan.share, kTeamBlock), kTeamKept);
  const std::size_t kept = kTeamKept + plan.chunks;
  return {kept + 1 + 2 + 5, chunks - std::min(chunks, kept), ceil_div(std::size_t{plan.team}, kTeamBlock)};
}

}  // namespace norm_teams
