// A block's part of long rows, for norm_teams.cuh and norm_read_twice.cuh: where it is, gamma and beta for it, and how the
// block's warps merge.
#pragma once
#include "norm_row.cuh"
#include "norm_shapes.hpp"

#include <cuda_pipeline.h>

#include <type_traits>

// Part `rank` of every row of at least 32 elements: up to `share` float4 from column + head on, where head elements stand
// in front of the row's first multiple of 128 bytes, so that a warp's float4 lie in whole lines. Part 0 has the row's
// edges too: the head, and what is behind the last float4. Rows differ in their heads alone.
struct Piece {
  std::size_t cols, column;
  unsigned rank, share, left;  // left: elements from `column` on, of which a share and a head matter
  __device__ Piece(std::size_t row_length, unsigned part, unsigned most)
      : cols(row_length), column(std::size_t{4} * most * part), rank(part), share(most) {
    left = column < cols ? static_cast<unsigned>(min(cols - column, std::size_t{4} * share + 32)) : 0;
  }
  __device__ static unsigned head(const float* row) {
    return (0 - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(row) / sizeof(float))) % 32;
  }
  __device__ unsigned count(unsigned head) const { return min(share, (left - min(left, head)) / 4); }
  __device__ unsigned tail(unsigned head) const { return static_cast<unsigned>(cols - head) % 4; }
  // The place of the one element that thread t takes of the row's edges, or cols. 35 threads take them all.
  __device__ std::size_t edge(unsigned t, unsigned head) const {
    if (rank > 0) return cols;
    if (t < head) return t;
    return t >= 32 && t - 32 < tail(head) ? cols - tail(head) + (t - 32) : cols;
  }
  // The number of elements of part `other`.
  __device__ float elements(unsigned other, unsigned head) const {
    const Piece piece(cols, other, share);
    return static_cast<float>(4 * piece.count(head) + (other == 0 ? head + tail(head) : 0));
  }
};

// gamma and beta of a part's columns, in shared memory, and of 32 more, as rows have heads.
template <Norm kNorm>
struct Scales {
  static constexpr unsigned kArrays = kNorm == Norm::layer ? 2 : 1;
  __host__ __device__ static constexpr unsigned room(unsigned share) { return 4 * share + 32; }  // of each array
  __host__ __device__ static constexpr std::size_t bytes(std::size_t share) {
    return kArrays * room(static_cast<unsigned>(share)) * sizeof(float);
  }
  float *gamma, *beta;

  // Starts the copies; wait() ends them, and a barrier must follow before any thread reads.
  __device__ Scales(float* shared, const float* from_gamma, const float* from_beta, const Piece& piece)
      : gamma(shared), beta(shared + room(piece.share)) {
    const unsigned end = min(piece.left, room(piece.share));
    for (unsigned i = threadIdx.x; i < end; i += blockDim.x) {
      __pipeline_memcpy_async(gamma + i, from_gamma + piece.column + i, sizeof(float));
      if (kNorm == Norm::layer) __pipeline_memcpy_async(beta + i, from_beta + piece.column + i, sizeof(float));
    }
    __pipeline_commit();
  }
  __device__ static void wait() { __pipeline_wait_prior(0); }

  // array[4 * i + kShift] to array[4 * i + kShift + 3], by aligned loads: two for a warp have 8 wavefronts, where four of
  // 4 bytes, 16 bytes from lane to lane, would have 16.
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
  // y of the part's float4 i, in a row with this head; kShift is head % 4.
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

// The parts of a block's kWarps warps, merged, returned to every thread. All threads must call it. `warps` may be written
// again after the block's next barrier.
template <Norm kNorm, unsigned kWarps>
__device__ Moments merge_warps(Moments m, float4 (&warps)[kWarps]) {
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = {m.n, m.mean, m.squares, 0.0f};
  __syncthreads();
  const float4 warp = warps[threadIdx.x % kWarps];
  return merge_lanes<kNorm, kWarps>({warp.x, warp.y, warp.z});
}
