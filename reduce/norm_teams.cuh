// Long rows, for the last steps of the norms: a team of blocks anywhere on the GPU takes a row, and another. What the
// blocks find of it passes through global memory; while they wait for that, the loads of the next row are in flight.
#pragma once
#include "norm_piece.cuh"

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

// Brings `bytes` from p on, both multiples of 16, to L2, where the GPU has the instruction (PTX ISA 9.0, section
// 9.7.9.25).
__device__ inline void prefetch([[maybe_unused]] const float* p, [[maybe_unused]] unsigned bytes) {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  if (bytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes) : "memory");
#endif
#endif
}

// Threads of a block, blocks of an SM, and float4 of a row for each thread, found by a sweep on an H200. A row waits in
// shared memory; of layer norm, whose gamma and beta fill that, in registers. Then fewer bytes are in flight on an SM,
// and the row after the next comes to L2 meanwhile; the other norms lose by that.
template <Norm kNorm>
struct TeamLayout {
  static constexpr bool kRegisters = kNorm == Norm::layer;
  static constexpr unsigned kBlock = kRegisters ? 128 : 256, kPerSm = kNorm == Norm::rms ? 4 : 3;
  static constexpr unsigned kKept = kRegisters ? 15 : 6, kMost = kKept * kBlock;  // float4 of a row for a block
  static std::size_t shared_bytes(std::size_t share) {
    return (kRegisters ? 0 : kMost * sizeof(float4)) + Scales<kNorm>::bytes(share);
  }
};

// See TeamPlan; the grid is teams * team blocks, all resident. `parts` has room for rows * team, all kEmpty.
template <Norm kNorm, typename L = TeamLayout<kNorm>>
__global__ void __launch_bounds__(L::kBlock, L::kPerSm)
    norm_team(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
              float* __restrict__ residual, float* __restrict__ y, std::size_t rows, std::size_t cols, unsigned team,
              unsigned share, unsigned long long* parts, float epsilon) {
  extern __shared__ float4 shared[];  // the row that waits: [k][thread]; gamma and beta
  constexpr unsigned kBlock = L::kBlock, kKept = L::kKept, kWarps = kBlock / 32;
  __shared__ float4 warps[2][kWarps];
  constexpr bool kAdd = kNorm == Norm::add_rms;
  const unsigned tid = threadIdx.x, teams = gridDim.x / team;
  const bool same = alike(x, residual), whole = alike(x, y);
  const Piece piece(cols, blockIdx.x % team, share);
  // the thread's first column, but for the head; no team keeps a row of 2^32 elements
  const unsigned own = static_cast<unsigned>(piece.column) + 4 * tid;

  // the row that loads, and the place of the one that waits
  float4 v[kKept], old[kAdd ? kKept : 1], held[L::kRegisters ? kKept : 1];
  float edge, old_edge;
  const auto place = [&](unsigned k) -> float4& {
    if constexpr (L::kRegisters) return held[k];
    return shared[k * kBlock + tid];
  };
  const auto load = [&](std::size_t skip) {
    const unsigned head = piece.head(x + skip), count = piece.count(head);
    const float *const from = x + skip + (own + head), *const sum = residual + skip + (own + head);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      v[k] = float4{};
      if (k * kBlock + tid < count) v[k] = load_unit(from + k * 4 * kBlock, true);
    }
#pragma unroll
    for (unsigned k = 0; kAdd && k < kKept; ++k) {
      old[k] = float4{};
      if (k * kBlock + tid < count) old[k] = load_unit(sum + k * 4 * kBlock, same);
    }
    const std::size_t at = piece.edge(tid, head);
    edge = at < cols ? x[skip + at] : 0.0f;
    old_edge = kAdd && at < cols ? residual[skip + at] : 0.0f;
  };
  std::size_t row = blockIdx.x / team, skip = row * cols;
  load(skip);
  const Scales<kNorm> scales(reinterpret_cast<float*>(shared + (L::kRegisters ? 0 : L::kMost)), gamma, beta, piece);

  for (; row < rows; row += teams, skip += teams * cols) {
    const unsigned head = piece.head(x + skip), count = piece.count(head);
    const std::size_t at = piece.edge(tid, head);
    if constexpr (kAdd) {  // add, store the sum
      float* const sum = residual + skip + (own + head);
#pragma unroll
      for (unsigned k = 0; k < kKept; ++k) {
        v[k] = add4(v[k], old[k]);
        if (k * kBlock + tid < count) store_unit(sum + k * 4 * kBlock, v[k], same);
      }
      edge += old_edge;
      if (at < cols) residual[skip + at] = edge;
    }

    // what the warp has of the row: the number of elements, their mean, the squared distances from it
    Moments m = {0.0f, 0.0f, 0.0f};
    if constexpr (kNorm == Norm::layer) {
      const unsigned units = (count + kBlock - 1 - tid) / kBlock;
      float total = edge;
#pragma unroll
      for (unsigned k = 0; k < kKept; ++k) total += sum4(v[k]);
      m.n = lanes_sum<32>(static_cast<float>(4 * units + (at < cols ? 1 : 0)));
      m.mean = lanes_sum<32>(total) / fmaxf(m.n, 1.0f);
    }
    if (at < cols) m.squares = (edge - m.mean) * (edge - m.mean);
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) {
      const float squares = squares_of<kNorm>(v[k], m.mean);
      m.squares += k * kBlock + tid < count ? squares : 0.0f;
    }
    m.squares = lanes_sum<32>(m.squares);

    // merge the warps, by a barrier that gamma and beta need too; publish
    scales.wait();
    m = merge_warps<kNorm, kWarps>(m, warps[0]);
    if (tid == 0) publish(&parts[row * team + piece.rank], m.mean, m.squares);

    // the row waits, and the next one's loads start
    const float held_edge = edge;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) place(k) = v[k];
    if (row + teams < rows) load(skip + teams * cols);
    if (L::kRegisters && tid == 0 && row + 2 * teams < rows) {
      const float* const later = x + skip + 2 * teams * cols;
      const unsigned later_head = piece.head(later);
      prefetch(later + piece.column + later_head, piece.count(later_head) * static_cast<unsigned>(sizeof(float4)));
    }

    // merge the blocks
    m = {0.0f, 0.0f, 0.0f};
    for (unsigned b = tid; b < team; b += kBlock) {
      m = merge(m, await(&parts[row * team + b], piece.elements(b, head)));
    }
    m = merge_warps<kNorm, kWarps>(merge_lanes<kNorm>(m), warps[1]);

    // scale, shift, store
    const float factor = rsqrtf(m.squares / static_cast<float>(cols) + epsilon);
    if (at < cols) y[skip + at] = normed<kNorm>(held_edge, m.mean, factor, gamma + at, beta + at);
    float* const to = y + skip + (own + head);
    with_shift(head, [&](auto shift) {
#pragma unroll
      for (unsigned k = 0; k < kKept; ++k) {
        const unsigned i = k * kBlock + tid;
        if (i >= count) continue;
        const float4 u = scales.template normed<decltype(shift)::value>(place(k), m.mean, factor, head, i);
        store_unit(to + k * 4 * kBlock, u, whole);
      }
    });
  }
}

template <Norm kNorm>
TeamPlan plan_for(std::size_t rows, std::size_t cols) {
  using L = TeamLayout<kNorm>;
  const auto bytes = static_cast<int>(L::shared_bytes(L::kMost));
  if (bytes > device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) return {0, 0, 0};
  CUDA_CHECK(cudaFuncSetAttribute(norm_team<kNorm>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  return team_plan(rows, cols, resident_blocks(norm_team<kNorm>, L::kBlock, bytes), L::kMost, L::kBlock);
}

// rows and cols are not 0; plan_for has a team. beta is gamma, residual y where the norm has none.
template <Norm kNorm>
void launch(const float* x, const float* gamma, const float* beta, float* residual, float* y, std::size_t rows,
            std::size_t cols, float epsilon) {
  using L = TeamLayout<kNorm>;
  TeamPlan plan = plan_for<kNorm>(rows, cols);
  unsigned long long* parts = scratch<unsigned long long>(rows * plan.team);
  CUDA_CHECK(cudaMemsetAsync(parts, 0xff, rows * plan.team * sizeof *parts));
  void* arguments[] = {&x, &gamma, &beta, &residual, &y, &rows, &cols, &plan.team, &plan.share, &parts, &epsilon};
  CUDA_CHECK(cudaLaunchCooperativeKernel(norm_team<kNorm>, dim3(plan.teams * plan.team), dim3(L::kBlock), arguments,
                                         L::shared_bytes(plan.share), nullptr));
}

// The longest sum in a warp: what a thread has and its edge, two levels in a float4, 5 in the warp.
template <Norm kNorm>
constexpr std::size_t kHeightOfWarp = TeamLayout<kNorm>::kKept + 1 + 2 + 5;
// Blocks of a team that a thread merges, one after another. Of one row the team is the largest.
template <Norm kNorm>
std::size_t blocks_of_thread(const TeamPlan& plan) {
  return ceil_div(std::size_t{plan.team}, std::size_t{TeamLayout<kNorm>::kBlock});
}

}  // namespace norm_teams
