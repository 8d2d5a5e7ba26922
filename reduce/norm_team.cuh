// A candidate of the norms' any_shape for long rows: a team of resident blocks normalises one row after another. The
// blocks of a team exchange moments through global memory, while the next row's loads are in flight.
#pragma once
#include "norm_row.cuh"

#include <cuda_pipeline.h>

#include <type_traits>

namespace norm_team {

// A block's mean and squares of a row in 64 bits, read and written at once. kEmpty is also the bits of two NaNs.
constexpr unsigned long long kEmpty = ~0ull;

__device__ inline void publish(unsigned long long* to, float mean, float squares) {
  const auto high = static_cast<unsigned long long>(__float_as_uint(mean));
  const unsigned long long bits = high << 32 | __float_as_uint(squares);
  atomicExch(to, bits == kEmpty ? kEmpty - 1 : bits);
}
// Waits until a block has published its part. All blocks of the grid are resident, so this always ends.
__device__ inline Moments await(const unsigned long long* from, float n) {
  const volatile unsigned long long* const slot = from;
  unsigned long long bits = *slot;
  while (bits == kEmpty) {
    __nanosleep(20);
    bits = *slot;
  }
  return {n, __uint_as_float(static_cast<unsigned>(bits >> 32)), __uint_as_float(static_cast<unsigned>(bits))};
}

// Prefetches `bytes` from p on to L2, both multiples of 16 (PTX ISA 9.0, section 9.7.9.25). Before sm_90: no effect.
__device__ inline void prefetch([[maybe_unused]] const float* p, [[maybe_unused]] unsigned bytes) {
#ifndef CUDA_EMU
#if __CUDA_ARCH__ >= 900
  if (bytes > 0) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes) : "memory");
#endif
#endif
}

// Part `rank` of every row: up to `share` float4. Part 0 also has the row's edges.
struct Part {
  unsigned rank, share;
  __device__ unsigned count(const Peeled<128>& row) const {
    const std::size_t begin = std::size_t{rank} * share;
    return row.units > begin ? static_cast<unsigned>(min(row.units - begin, std::size_t{share})) : 0;
  }
  __device__ std::size_t edge(const Peeled<128>& row, std::size_t cols) const {
    return rank == 0 ? row.edge(threadIdx.x, cols) : cols;
  }
  __device__ float elements(const Peeled<128>& row) const {
    return static_cast<float>(4 * count(row) + (rank == 0 ? row.head + row.tail : 0));
  }
};

// gamma and beta of a part's columns in shared memory, plus 32 columns more, because the heads of rows differ.
template <Norm kNorm>
struct Scales {
  __host__ __device__ static constexpr unsigned room(unsigned share) { return 4 * share + 32; }  // floats per array
  static constexpr std::size_t bytes(unsigned share) {
    return (kNorm == Norm::layer ? 2 : 1) * room(share) * sizeof(float);
  }
  float *gamma, *beta;

  // Starts the copies. wait() waits for them; a barrier must follow before any thread reads.
  __device__ Scales(float* shared, const float* from_gamma, const float* from_beta, std::size_t cols, const Part& part)
      : gamma(shared), beta(shared + room(part.share)) {
    const std::size_t first = std::size_t{4} * part.share * part.rank;
    const unsigned end = first < cols ? static_cast<unsigned>(min(cols - first, std::size_t{room(part.share)})) : 0;
    for (unsigned i = threadIdx.x; i < end; i += blockDim.x) {
      __pipeline_memcpy_async(gamma + i, from_gamma + first + i, sizeof(float));
      if (kNorm == Norm::layer) __pipeline_memcpy_async(beta + i, from_beta + first + i, sizeof(float));
    }
    __pipeline_commit();
  }
  __device__ static void wait() { __pipeline_wait_prior(0); }

  // Returns array[4 * i + kShift] and the next three by two aligned loads: 8 wavefronts, not 16 as by scalar loads.
  template <unsigned kShift>
  __device__ static float4 at(const float* array, unsigned i) {
    const float4* const p = reinterpret_cast<const float4*>(array) + i;
    const float4 a = p[0];
    if constexpr (kShift == 0) return a;
    const float4 b = p[1];
    if constexpr (kShift == 1) return {a.y, a.z, a.w, b.x};
    if constexpr (kShift == 2) return {a.z, a.w, b.x, b.y};
    return {a.w, b.x, b.y, b.z};
  }
  // Returns y of the part's float4 i in a row with this head; kShift is head % 4.
  template <unsigned kShift>
  __device__ float4 normed(float4 v, float mean, float factor, unsigned head, unsigned i) const {
    const float4 g = at<kShift>(gamma, head / 4 + i);
    if constexpr (kNorm != Norm::layer) return scale4(v, factor, g);
    return normalise4(v, mean, factor, g, at<kShift>(beta, head / 4 + i));
  }
};

// Calls body(std::integral_constant<unsigned, head % 4>).
template <typename Body>
__device__ void with_shift(unsigned head, const Body& body) {
  if (head % 4 == 0) body(std::integral_constant<unsigned, 0>{});
  if (head % 4 == 1) body(std::integral_constant<unsigned, 1>{});
  if (head % 4 == 2) body(std::integral_constant<unsigned, 2>{});
  if (head % 4 == 3) body(std::integral_constant<unsigned, 3>{});
}

// Threads per block, blocks per SM, float4 of a row per thread. The current row is kept in shared memory; in
// layer_norm, where gamma and beta fill that, in registers, with a prefetch of the row after next to L2.
template <Norm kNorm>
struct TeamLayout {
  static constexpr bool kRegisters = kNorm == Norm::layer;
  static constexpr unsigned kBlock = kRegisters ? 128 : 256, kPerSm = kNorm == Norm::rms ? 4 : 3;
  static constexpr unsigned kKept = kRegisters ? 15 : 6, kMost = kKept * kBlock;  // float4 of a row for a block
  static std::size_t shared_bytes(unsigned share) {
    return (kRegisters ? 0 : kMost * sizeof(float4)) + Scales<kNorm>::bytes(share);
  }
};

// Grid: a multiple of `team` blocks, all resident. `parts`: rows * team words, all kEmpty; each is used once.
template <Norm kNorm, typename L = TeamLayout<kNorm>>
__global__ void __launch_bounds__(L::kBlock, L::kPerSm)
    norm_by_team(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                 float* __restrict__ residual, float* __restrict__ y, std::size_t rows, std::size_t cols, unsigned team,
                 unsigned share, unsigned long long* parts, float epsilon) {
  extern __shared__ float4 shared[];  // the current row, [k][thread]; then gamma and beta
  constexpr unsigned kBlock = L::kBlock, kKept = L::kKept, kWarps = kBlock / 32;
  __shared__ float4 warps[2][kWarps];
  constexpr bool kAdd = kNorm == Norm::add_rms;
  const unsigned tid = threadIdx.x, teams = gridDim.x / team;
  const bool same = alike(x, residual), whole = alike(x, y);
  const Part part = {blockIdx.x % team, share};
  const unsigned own = 4 * (share * part.rank + tid);  // the thread's first column, without the head

  // the row being loaded, and the storage of the current row
  float4 v[kKept], old[kAdd ? kKept : 1], held[L::kRegisters ? kKept : 1];
  float edge, old_edge;
  const auto place = [&](unsigned k) -> float4& {
    if constexpr (L::kRegisters) return held[k];
    return shared[k * kBlock + tid];
  };
  const auto load = [&](std::size_t skip) {
    const Peeled<128> peeled(x + skip, cols);
    const unsigned count = part.count(peeled);
    const float *const from = x + skip + (own + peeled.head), *const sum = residual + skip + (own + peeled.head);
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
    const std::size_t at = part.edge(peeled, cols);
    edge = at < cols ? x[skip + at] : 0.0f;
    old_edge = kAdd && at < cols ? residual[skip + at] : 0.0f;
  };
  std::size_t row = blockIdx.x / team, skip = row * cols;
  load(skip);
  const Scales<kNorm> scales(reinterpret_cast<float*>(shared + (L::kRegisters ? 0 : L::kMost)), gamma, beta, cols,
                             part);

  for (; row < rows; row += teams, skip += teams * cols) {
    const Peeled<128> peeled(x + skip, cols);
    const unsigned head = peeled.head, count = part.count(peeled);
    const std::size_t at = part.edge(peeled, cols);
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

    // moments of the warp's part of the row: element count, mean, squared distances from it
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

    // merge the warps (the barrier inside also covers gamma and beta), then publish
    scales.wait();
    m = merge_warps<kNorm>(m, warps[0]);
    if (tid == 0) publish(&parts[row * team + part.rank], m.mean, m.squares);

    // keep the current row, start the loads of the next one
    const float held_edge = edge;
#pragma unroll
    for (unsigned k = 0; k < kKept; ++k) place(k) = v[k];
    if (row + teams < rows) load(skip + teams * cols);
    if (L::kRegisters && tid == 0 && row + 2 * teams < rows) {
      const Peeled<128> later(x + skip + 2 * teams * cols, cols);
      prefetch(x + skip + 2 * teams * cols + (own + later.head),
               part.count(later) * static_cast<unsigned>(sizeof(float4)));
    }

    // merge the blocks
    m = {0.0f, 0.0f, 0.0f};
    for (unsigned b = tid; b < team; b += kBlock) {
      m = merge(m, await(&parts[row * team + b], Part{b, share}.elements(peeled)));
    }
    m = merge_warps<kNorm>(merge_lanes<kNorm>(m), warps[1]);

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

// `teams` teams of `team` blocks; each block has up to `share` float4 of a row. team is 0 if the whole GPU cannot hold
// a row. A team is as small as the row allows, then grows into idle blocks while each thread still has a float4.
struct TeamPlan {
  unsigned teams, team, share;
};
template <Norm kNorm>
TeamPlan plan(std::size_t rows, std::size_t cols) {
  using L = TeamLayout<kNorm>;
  const std::size_t bytes = L::shared_bytes(L::kMost);
  if (bytes + (1 << 10) > most_shared_bytes()) return {0, 0, 0};  // 1 KB for `warps`
  CUDA_CHECK(
      cudaFuncSetAttribute(norm_by_team<kNorm>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const std::size_t resident = resident_blocks(norm_by_team<kNorm>, L::kBlock, bytes);
  const std::size_t lines = ceil_div(ceil_div(cols, 4), 8);  // of 8 float4
  const std::size_t needed = ceil_div(lines, std::size_t{L::kMost / 8});
  if (needed > resident) return {0, 0, 0};
  const std::size_t at_once = std::min(rows, resident / needed);
  const std::size_t teams = ceil_div(rows, ceil_div(rows, at_once));
  const std::size_t team = std::min(resident / teams, std::max<std::size_t>(lines / (L::kBlock / 8), 1));
  return {static_cast<unsigned>(teams), static_cast<unsigned>(team), static_cast<unsigned>(ceil_div(lines, team) * 8)};
}

// A short row would keep a whole team waiting.
template <Norm kNorm>
bool accepts(const NormCall& call) {
  return call.cols > RowNorm::kLongRow && plan<kNorm>(call.rows, call.cols).team > 0;
}

template <Norm kNorm>
void launch(const NormCall& call) {
  using L = TeamLayout<kNorm>;
  NormCall c = call;
  TeamPlan p = plan<kNorm>(c.rows, c.cols);
  unsigned long long* parts = scratch<unsigned long long>(c.rows * p.team);
  CUDA_CHECK(cudaMemsetAsync(parts, 0xff, c.rows * p.team * sizeof *parts));
  void* arguments[] = {&c.x,    &c.gamma, &c.beta,  &c.residual, &c.y,      &c.rows,
                       &c.cols, &p.team,  &p.share, &parts,      &c.epsilon};
  CUDA_CHECK(cudaLaunchCooperativeKernel(norm_by_team<kNorm>, dim3(p.teams * p.team), dim3(L::kBlock), arguments,
                                         L::shared_bytes(p.share), nullptr));
}

}  // namespace norm_team
