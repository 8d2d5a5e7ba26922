// Problem:  a thread of step 03 moves 4 bytes per access.
// Idea:     load float4, so a tile is 128 columns wide. If rows are not aligned, the same kernel adds single floats.
// Expect:   0.95 to 1.1x step 03, 0.9 to 1.0 of a read at 16384x4096: a quarter of the loads, but step 03 already has
//           enough bytes in flight and is not limited by instructions.
// Measured: 1.01x step 03, 0.98x cuBLAS at 16384x4096 (H200).
// Next:     a matrix of 8 columns has rows of two float4. What do the other 30 lanes do?
#include "col_sum.cuh"
#include "slices.cuh"

constexpr int kLanes = 32, kRows = 16;
constexpr std::size_t kMinRows = 16 * kRows;  // per slice

__device__ static float sum(float a, float b) { return a + b; }
__device__ static float4 sum(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// A row has `units` elements of type V. A block adds `height` rows of 32 units, starting at row blockIdx.y * height,
// into row blockIdx.y of out.
template <typename V>
__global__ void col_sum_float4(const V* __restrict__ x, V* __restrict__ out, std::size_t rows, std::size_t units,
                               std::size_t height) {
  __shared__ V sums[kRows][kLanes];
  const std::size_t unit = std::size_t{blockIdx.x} * kLanes + threadIdx.x;
  const std::int64_t begin = blockIdx.y * height, end = min(begin + height, rows);
  V v{};
  if (unit < units) {
#pragma unroll 4
    for (std::int64_t r = begin + threadIdx.y; r < end; r += kRows) v = sum(v, x[r * units + unit]);
  }
  sums[threadIdx.y][threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.y > 0 || unit >= units) return;
  for (int y = 1; y < kRows; ++y) v = sum(v, sums[y][threadIdx.x]);
  out[blockIdx.y * units + unit] = v;
}

template <typename V>
static void add_columns(const V* x, V* out, std::size_t rows, std::size_t units) {
  const dim3 block(kLanes, kRows);
  const std::size_t tiles = ceil_div(units, kLanes), most = rows / kMinRows;
  const std::size_t slices = slices_for(tiles, resident_blocks(col_sum_float4<V>, kLanes * kRows), most);
  const std::size_t height = ceil_div(rows, slices);
  V* partials = slices > 1 ? scratch<V>(slices * units) : out;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
  col_sum_float4<V><<<grid, block>>>(x, partials, rows, units, height);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  col_sum_float4<V><<<static_cast<unsigned>(tiles), block>>>(partials, out, slices, units, slices);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* x, float* out, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;
  if (cols % 4 == 0 && aligned_for<float4>(x, out)) {
    add_columns(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(out), rows, cols / 4);
  } else {
    add_columns(x, out, rows, cols);
  }
}

LADDER_STEP(ColSum, launch);
