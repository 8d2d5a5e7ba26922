// Problem:  each of steps 02 to 06 is the fastest at some shape, and unaligned rows have few loads in flight.
// Idea:     one kernel, compiled for the 13 shapes of a table (gemv_shapes.hpp). In unaligned rows four coalesced
//           scalar loads replace a float4: as many bytes in flight. Few long rows are split as in step 06.
// Expect:   at least 1.0x the best of steps 02 to 06 on every shape; most where A is little larger than L2 (__ldcs).
// Measured: 1.09x step 06, 1.42x cuBLAS at 8192x8192 (H200); 1.09x, 1.30x (H100).
// Why:      not on every shape: 0.91x step 01 at 23199672 x 11 with lda = 13 (H200). The reason is unknown.
// Next:     what is left? (Fewer bytes: A in half, int8 or 4 bits, as in language models.)
#include "block_reduce.cuh"
#include "../float4.cuh"
#include "gemv.cuh"
#include "gemv_shapes.hpp"
#include "slices.cuh"

#include <algorithm>
#include <type_traits>
#include <utility>

constexpr unsigned kMinBlock = 256;

// Returns four elements of a row for this lane. kVector: p[0] to p[3] by one load; p must be 16-byte aligned. Otherwise
// the four are kThreads apart, so that each load is coalesced at any alignment. kGuarded: elements from p[left] on are
// not read and count as 0; with kVector, left must be a multiple of 4.
template <unsigned kThreads, bool kVector, bool kEvictFirst, bool kGuarded>
__device__ static float4 load_quad(const float* p, int left) {
  if constexpr (kVector) {
    return !kGuarded || left > 0 ? load4<kEvictFirst>(p) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  } else {
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = i * static_cast<int>(kThreads);
      v[i] = kGuarded && at >= left ? 0.0f : kEvictFirst ? __ldcs(p + at) : p[at];
    }
    return make_float4(v[0], v[1], v[2], v[3]);
  }
}

// Each kThreads threads multiply kRows rows by x, over the slice of k that starts at blockIdx.y * slice. slice must be
// a multiple of 4, at most 2^30. With one slice results go to y, else to partials[row * gridDim.y + blockIdx.y].
// kLoads: quads (float4 or four floats) of each row in flight per thread. kEvictFirst: A is read with __ldcs.
template <unsigned kThreads, unsigned kRows, unsigned kLoads, bool kVector, bool kEvictFirst>
__global__ void __launch_bounds__(kThreads < kMinBlock ? kMinBlock : kThreads, kThreads == 1024 ? 0 : 4)
    gemv_by_shape(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                  const float* __restrict__ x, float beta, float* __restrict__ y, unsigned slice,
                  float* __restrict__ partials) {
  // group g of the block has rows g, g + groups, ...: rows that are loaded together are neighbours
  const unsigned lane = threadIdx.x % kThreads, group = threadIdx.x / kThreads, groups = blockDim.x / kThreads;
  const std::size_t row = std::size_t{blockIdx.x} * groups * kRows + group, begin = std::size_t{blockIdx.y} * slice;
  const unsigned length = row < m && begin < k ? static_cast<unsigned>(min(std::size_t{slice}, k - begin)) : 0;
  const unsigned end = kVector ? length / 4 * 4 : length;

  x += begin;
  const float *first = A + row * lda + begin, *a[kRows];
  float sum[kRows];
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
    a[r] = first + (row + r * groups < m ? r * groups : 0) * lda;  // past the last row: the first one again
    sum[r] = 0.0f;
  }
  // load: full passes, a guarded one, then the last 1 to 3 elements of an aligned row
  constexpr unsigned pass = 4 * kThreads * kLoads;
  const unsigned offset = kVector ? 4 * lane : lane;
  unsigned j = 0;
  const auto add_pass = [&](auto guarded) {
    constexpr bool kGuarded = decltype(guarded)::value;
    const int left = static_cast<int>(end) - static_cast<int>(j + offset);
    float4 v[kRows][kLoads];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const float* p = a[r] + j + offset;
#pragma unroll
      for (unsigned u = 0; u < kLoads; ++u) {
        constexpr int step = 4 * kThreads;
        v[r][u] = load_quad<kThreads, kVector, kEvictFirst, kGuarded>(p + u * step, left - static_cast<int>(u) * step);
      }
    }
#pragma unroll
    for (unsigned u = 0; u < kLoads; ++u) {
      constexpr int step = 4 * kThreads;
      const float4 w =
          load_quad<kThreads, kVector, false, kGuarded>(x + j + offset + u * step, left - static_cast<int>(u) * step);
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) sum[r] += dot4(v[r][u], w);
    }
  };
#pragma unroll 1
  for (; j + pass <= end; j += pass) add_pass(std::false_type{});
  if (j < end) add_pass(std::true_type{});
  if (kVector) {
#pragma unroll 1
    for (j = end + lane; j < length; j += kThreads) {
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) sum[r] += a[r][j] * x[j];
    }
  }

  // reduce over the lanes, then over the warps of a row; lane r % kThreads gets the sum of row r
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
#pragma unroll
    for (unsigned offset = (kThreads < 32 ? kThreads : 32) / 2; offset > 0; offset /= 2) {
      sum[r] += __shfl_xor_sync(0xffffffff, sum[r], offset);
    }
  }
  if (kThreads > 32) {
    constexpr unsigned warps = (kThreads + 31) / 32;
    __shared__ float warp_sums[kRows][warps];  // a block is one group here
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) warp_sums[r][threadIdx.x / 32] = sum[r];
    }
    __syncthreads();
    if (lane < kRows) {
      float s = 0.0f;
#pragma unroll
      for (unsigned w = 0; w < warps; ++w) s += warp_sums[lane][w];
#pragma unroll
      for (unsigned r = 0; r < kRows; ++r) sum[r] = s;
    }
  }
  // store
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
    const std::size_t i = row + r * groups;
    if (lane != r % kThreads || i >= m) continue;
    if (gridDim.y > 1) {
      partials[i * gridDim.y + blockIdx.y] = sum[r];
    } else {
      y[i] = beta == 0.0f ? alpha * sum[r] : alpha * sum[r] + beta * y[i];
    }
  }
}

// Adds the slices of each row, one warp per row, and applies alpha and beta.
__global__ void gemv_by_shape_finish(std::size_t m, unsigned slices, const float* __restrict__ partials, float alpha,
                                     float beta, float* __restrict__ y) {
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= m) return;
  float sum = 0.0f;
#pragma unroll 4
  for (unsigned s = lane; s < slices; s += 32) sum += partials[row * slices + s];
  sum = warp_sum_to_lane_0(sum);
  if (lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

using Kernel = decltype(&gemv_by_shape<1, 4, 1, true, true>);

// Returns the kernel for shape i. Short rows always get evict-first loads, to save kernels.
template <std::size_t i, bool kVector>
static constexpr Kernel kernel_of(bool evict_first) {
  constexpr GemvShape s = kGemvShapes[i];
  return evict_first ? gemv_by_shape<s.threads, s.rows, s.loads, kVector, true>
                     : gemv_by_shape<s.threads, s.rows, s.loads, kVector, s.longest != 0>;
}

template <std::size_t... i>
static Kernel kernel_of(std::size_t shape, bool aligned, bool evict_first, std::index_sequence<i...>) {
  static constexpr Kernel kernels[][2][2] = {{{kernel_of<i, false>(false), kernel_of<i, false>(true)},
                                              {kernel_of<i, true>(false), kernel_of<i, true>(true)}}...};
  return kernels[shape][aligned][evict_first];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  // For rows of up to 12 elements float4 loads are not worth a second loop for the last elements.
  const bool aligned = aligned_for<float4>(A, x) && (lda % 4 == 0 || m == 1) && (k > 12 || k % 4 == 0);
  const bool evict_first = evict_first_pays(m * k * sizeof(float));
  const std::size_t chosen = gemv_kernel(m, k, aligned, sm_count());
  const GemvShape& shape = kGemvShapes[chosen];
  const Kernel kernel = kernel_of(chosen, aligned, evict_first, std::make_index_sequence<std::size(kGemvShapes)>());

  // slices in gridDim.y: enough to fill the SMs, and short enough that blocks of long rows do not all end at once
  constexpr std::size_t max_slices = 65535;
  const unsigned block = std::max(shape.threads, kMinBlock);
  const std::size_t blocks = ceil_div(m, std::size_t{block / shape.threads * shape.rows});
  const std::size_t pass = std::size_t{4} * shape.threads * shape.loads;
  const std::size_t resident = resident_blocks(kernel, static_cast<int>(block));
  const auto slices = static_cast<unsigned>(
      std::min(slices_for(blocks, resident, std::max<std::size_t>(1, k / pass), k / gemv_longest_slice(k, aligned)),
               max_slices));
  const auto slice = static_cast<unsigned>(4 * ceil_div(k, std::size_t{4} * slices));
  float* partials = slices > 1 ? scratch<float>(m * slices) : nullptr;

  kernel<<<dim3(static_cast<unsigned>(blocks), slices), block>>>(m, k, alpha, A, lda, x, beta, y, slice, partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  gemv_by_shape_finish<<<static_cast<unsigned>(ceil_div(m, 8)), 256>>>(m, slices, partials, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
