// Problem:  step 03 stores and adds many partial sums, and loads 4 bytes at a time.
// Idea:     tall tiles. 1024 threads cover a tile kLanes float4 wide and reduce within the block, eight float4 in
//           flight per thread. At 32, 64 or 128 columns per SM each SM has one tile. Smaller k splits the rows.
// Expect:   1.2 to 1.3x step 03 when A barely exceeds L2: one launch, evict-first loads. 1.02 to 1.1x for larger A.
// Measured: 1.19x step 03, 1.05x cuBLAS at 8192x8192 (H200); 1.12x, 1.06x (H100).
// Why:      1.39x at 4096x4096 (H200). Hypothesis: evict-first loads, which alone gave gemv 1.2x (H100).
// Next:     with 8 lanes a request touches 4 rows, 128 bytes of each. Why does that cost nothing? (Whole sectors.)
#include "../float4.cuh"
#include "gemv_t.cuh"

#include <algorithm>

constexpr unsigned kBlock = 1024;
constexpr unsigned kLoads = 8;  // float4 in flight per thread

__device__ static void add(float4& sum, float4 a, float x) {
  sum.x += a.x * x;
  sum.y += a.y * x;
  sum.z += a.z * x;
  sum.w += a.w * x;
}

// A block has 4 * kLanes columns from blockIdx.x * 4 * kLanes on, and `rows` rows from blockIdx.y * rows on. With one
// slice of the rows results go to y, else to partials[blockIdx.y * k + column]. kEvictFirst: A is read with __ldcs.
template <unsigned kLanes, bool kEvictFirst>
__global__ void __launch_bounds__(kBlock, 1)
    gemv_t_tall_tile(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                     const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned, std::size_t rows,
                     float* __restrict__ partials) {
  constexpr unsigned row_step = kBlock / kLanes;  // rows that the block reads at a time
  const unsigned lane = threadIdx.x % kLanes;
  const std::size_t tile = std::size_t{blockIdx.x} * (4 * kLanes), column = tile + 4 * lane;
  const std::size_t end = min((blockIdx.y + std::size_t{1}) * rows, m);

  // load: kLoads rows at a time, then single rows; or scalars
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  std::size_t i = blockIdx.y * rows + threadIdx.x / kLanes;
  if (aligned && column + 4 <= k) {
    for (; i + (kLoads - 1) * row_step < end; i += kLoads * row_step) {
      float4 a[kLoads];
#pragma unroll
      for (unsigned u = 0; u < kLoads; ++u) a[u] = load4<kEvictFirst>(A + (i + u * row_step) * lda + column);
#pragma unroll
      for (unsigned u = 0; u < kLoads; ++u) add(sum, a[u], x[i + u * row_step]);
    }
    for (; i < end; i += row_step) add(sum, load4<kEvictFirst>(A + i * lda + column), x[i]);
  } else if (column < k) {  // unaligned rows, or the last 1 to 3 columns
    const std::size_t left = k - column;
#pragma unroll 2
    for (; i < end; i += row_step) {
      const float* a = A + i * lda + column;
      add(sum, make_float4(a[0], left > 1 ? a[1] : 0.0f, left > 2 ? a[2] : 0.0f, left > 3 ? a[3] : 0.0f), x[i]);
    }
  }

  // reduce over lanes that have the same columns, then over the warps
#pragma unroll
  for (unsigned offset = 16; offset >= kLanes; offset /= 2) {
    sum.x += __shfl_xor_sync(0xffffffff, sum.x, offset);
    sum.y += __shfl_xor_sync(0xffffffff, sum.y, offset);
    sum.z += __shfl_xor_sync(0xffffffff, sum.z, offset);
    sum.w += __shfl_xor_sync(0xffffffff, sum.w, offset);
  }
  __shared__ float4 warp_sums[kBlock / 32][kLanes];
  if (threadIdx.x % 32 < kLanes) warp_sums[threadIdx.x / 32][lane] = sum;
  __syncthreads();
  const std::size_t out = tile + threadIdx.x;  // a column per thread from here on
  if (threadIdx.x >= 4 * kLanes || out >= k) return;
  float s = 0.0f;
#pragma unroll
  for (unsigned w = 0; w < kBlock / 32; ++w) s += reinterpret_cast<const float*>(warp_sums[w])[threadIdx.x];
  // store
  if (gridDim.y > 1) {
    partials[blockIdx.y * k + out] = s;
  } else {
    y[out] = beta == 0.0f ? alpha * s : alpha * s + beta * y[out];
  }
}

__global__ void gemv_t_tall_tile_finish(std::size_t k, unsigned slices, const float* __restrict__ partials, float alpha,
                                        float beta, float* __restrict__ y) {
  const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= k) return;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned s = 0; s < slices; ++s) sum += partials[s * k + column];
  y[column] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[column];
}

template <unsigned kLanes>
static void launch_tiles(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                         float beta, float* y) {
  const bool aligned = aligned_for<float4>(A) && lda % 4 == 0;
  const bool evict_first = evict_first_pays(m * k * sizeof(float));
  const std::size_t tiles = ceil_div(k, std::size_t{4 * kLanes});
  const std::size_t max_slices = m / (kLoads * kBlock / kLanes);  // at least kLoads rows per thread
  const auto slices = static_cast<unsigned>(std::max<std::size_t>(1, std::min(sm_count() / tiles, max_slices)));
  float* partials = slices > 1 ? scratch<float>(slices * k) : nullptr;

  const auto kernel = evict_first ? gemv_t_tall_tile<kLanes, true> : gemv_t_tall_tile<kLanes, false>;
  const dim3 grid(static_cast<unsigned>(tiles), slices);
  kernel<<<grid, kBlock>>>(m, k, alpha, A, lda, x, beta, y, aligned, ceil_div(m, slices), partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  gemv_t_tall_tile_finish<<<static_cast<unsigned>(ceil_div(k, 256)), 256>>>(k, slices, partials, alpha, beta, y);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (k == 0) return;
  if (alpha == 0) m = 0;                                                         // A and x are not read
  const std::size_t per_sm = ceil_div(k, static_cast<std::size_t>(sm_count()));  // columns
  const auto tiles = per_sm <= 32 ? launch_tiles<8> : per_sm <= 64 ? launch_tiles<16> : launch_tiles<32>;
  tiles(m, k, alpha, A, lda, x, beta, y);
}

LADDER_STEP(GemvT, launch);
