// Step 03 pays for its many narrow pieces with partial sums, and its threads load 4 bytes at a time. Idea: float4 and a
// tall tile. A block of 1024 threads covers few columns, `lanes` float4 wide, and very many rows: threads with the same
// columns take different rows, eight at a time, and add up among themselves at the end, by shuffle within a warp, then
// in shared memory. The launch makes tiles just so wide that there is one for each SM; then no rows need be cut into
// pieces, there are no partial sums and there is no second kernel. (Narrow matrices need pieces still, as in step 03.)
// Up to 8 times the size of L2 A is read with __ldcs ("evict first"), so that our reads do not drive out what the kernel
// before left in L2 unwritten.
// Expect: 20 to 30 % over step 03 on matrices not much larger than L2, some per cent on large ones.
// Next question: with 8 lanes a request touches 4 rows, 128 bytes of each. Why does that cost nothing? (Whole sectors;
// and the neighbouring columns are read by other blocks at about the same time.)
#include "gemv_t.cuh"

#include <algorithm>

constexpr unsigned kBlock = 1024;
constexpr unsigned kLoads = 8;  // float4 in flight per thread

template <bool streaming>
__device__ static float4 load4(const float* p) {
  const float4* p4 = reinterpret_cast<const float4*>(p);
  return streaming ? __ldcs(p4) : *p4;
}

__device__ static void add(float4& sum, float4 a, float x) {
  sum.x += a.x * x;
  sum.y += a.y * x;
  sum.z += a.z * x;
  sum.w += a.w * x;
}

// A block has 4 * lanes columns, from blockIdx.x * 4 * lanes on, and `rows` rows, from blockIdx.y * rows on. With one
// piece of the rows, gridDim.y = 1, the results go to y, else to sums[blockIdx.y * k + column].
template <unsigned lanes, bool streaming>
__global__ void __launch_bounds__(kBlock, 1)
    gemv_t_tall_tile(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                     const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned, std::size_t rows,
                     float* __restrict__ sums) {
  constexpr unsigned at_once = kBlock / lanes;  // rows
  const unsigned lane = threadIdx.x % lanes;
  const std::size_t tile = std::size_t{blockIdx.x} * (4 * lanes), column = tile + 4 * lane;
  const std::size_t end = min((blockIdx.y + std::size_t{1}) * rows, m);

  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  std::size_t i = blockIdx.y * rows + threadIdx.x / lanes;
  if (aligned && column + 4 <= k) {
    for (; i + (kLoads - 1) * at_once < end; i += kLoads * at_once) {
      float4 a[kLoads];
#pragma unroll
      for (unsigned u = 0; u < kLoads; ++u) a[u] = load4<streaming>(A + (i + u * at_once) * lda + column);
#pragma unroll
      for (unsigned u = 0; u < kLoads; ++u) add(sum, a[u], x[i + u * at_once]);
    }
    for (; i < end; i += at_once) add(sum, load4<streaming>(A + i * lda + column), x[i]);
  } else if (column < k) {  // unaligned rows, or the last 1 to 3 columns
    const std::size_t left = k - column;
#pragma unroll 2
    for (; i < end; i += at_once) {
      const float* a = A + i * lda + column;
      add(sum, make_float4(a[0], left > 1 ? a[1] : 0.0f, left > 2 ? a[2] : 0.0f, left > 3 ? a[3] : 0.0f), x[i]);
    }
  }

  // The lanes of a warp that have the same columns, then the warps.
#pragma unroll
  for (unsigned offset = 16; offset >= lanes; offset /= 2) {
    sum.x += __shfl_xor_sync(0xffffffff, sum.x, offset);
    sum.y += __shfl_xor_sync(0xffffffff, sum.y, offset);
    sum.z += __shfl_xor_sync(0xffffffff, sum.z, offset);
    sum.w += __shfl_xor_sync(0xffffffff, sum.w, offset);
  }
  __shared__ float4 warp_sums[kBlock / 32][lanes];
  if (threadIdx.x % 32 < lanes) warp_sums[threadIdx.x / 32][lane] = sum;
  __syncthreads();
  const std::size_t mine = tile + threadIdx.x;
  if (threadIdx.x >= 4 * lanes || mine >= k) return;
  float s = 0.0f;
#pragma unroll
  for (unsigned w = 0; w < kBlock / 32; ++w) s += reinterpret_cast<const float*>(warp_sums[w])[threadIdx.x];
  if (gridDim.y > 1) {
    sums[blockIdx.y * k + mine] = s;
  } else {
    y[mine] = beta == 0.0f ? alpha * s : alpha * s + beta * y[mine];
  }
}

__global__ void gemv_t_tall_tile_finish(std::size_t k, unsigned pieces, const float* __restrict__ sums, float alpha,
                                        float beta, float* __restrict__ y) {
  const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= k) return;
  float sum = 0.0f;
#pragma unroll 8
  for (unsigned p = 0; p < pieces; ++p) sum += sums[p * k + column];
  y[column] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[column];
}

template <unsigned lanes>
static void launch_tiles(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                         float beta, float* y) {
  const bool aligned = aligned_for<float4>(A) && lda % 4 == 0;
  const bool streaming = evict_first_pays(m * k * sizeof(float));
  const std::size_t tiles = ceil_div(k, std::size_t{4 * lanes});
  const std::size_t most = m / (kLoads * kBlock / lanes);  // pieces that are worth a block
  const auto pieces = static_cast<unsigned>(std::max<std::size_t>(1, std::min(sm_count() / tiles, most)));
  float* sums = pieces > 1 ? scratch<float>(pieces * k) : nullptr;

  const auto kernel = streaming ? gemv_t_tall_tile<lanes, true> : gemv_t_tall_tile<lanes, false>;
  const dim3 grid(static_cast<unsigned>(tiles), pieces);
  kernel<<<grid, kBlock>>>(m, k, alpha, A, lda, x, beta, y, aligned, ceil_div(m, pieces), sums);
  CUDA_CHECK(cudaGetLastError());
  if (pieces == 1) return;
  gemv_t_tall_tile_finish<<<static_cast<unsigned>(ceil_div(k, 256)), 256>>>(k, pieces, sums, alpha, beta, y);
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
