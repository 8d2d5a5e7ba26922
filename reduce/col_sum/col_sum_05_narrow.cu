// Problem:  step 04 assigns 32 lanes to a row. A matrix of 8 columns has two float4 per row, so 30 lanes idle.
// Idea:     a tile as narrow as the matrix. Thread t takes float4 t % width of row t / width, so a warp reads
//           neighbouring rows, still coalesced. A tree over the block adds the threads with the same columns.
// Expect:   2 to 4x step 04 at 2^24x8, until memory is the limit; 1.0x at 16384x4096. The second kernel has narrow
//           tiles too, for more blocks: at 2^20x128 four blocks add the slices instead of one.
// Measured: 0.99x step 04, 0.97x cuBLAS at 16384x4096 (H200).
// Next:     rows of 3 floats: which lanes are idle? (Every fourth. Take 32 rows as one row of 96 columns.)
#include "col_sum.cuh"
#include "slices.cuh"

constexpr unsigned kBlock = 512;

__device__ static float sum(float a, float b) { return a + b; }
__device__ static float4 sum(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

// A row has `units` elements of type V, a tile `width` of them, a power of 2 up to 32. A block adds `height` rows of a
// tile, starting at row blockIdx.y * height, into row blockIdx.y of out.
template <typename V>
__global__ void col_sum_narrow(const V* __restrict__ x, V* __restrict__ out, std::size_t rows, std::size_t units,
                               unsigned width, std::size_t height) {
  __shared__ V sums[kBlock];
  const std::size_t unit = std::size_t{blockIdx.x} * width + threadIdx.x % width;
  const std::int64_t begin = blockIdx.y * height, end = min(begin + height, rows);
  V v{};
  if (unit < units) {
#pragma unroll 4
    for (std::int64_t r = begin + threadIdx.x / width; r < end; r += kBlock / width) v = sum(v, x[r * units + unit]);
  }
  // reduce over the threads with the same columns, which are `width` apart
  sums[threadIdx.x] = v;
  for (unsigned half = kBlock / 2; half >= width; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] = sum(sums[threadIdx.x], sums[threadIdx.x + half]);
  }
  if (threadIdx.x < width && unit < units) out[blockIdx.y * units + unit] = sums[threadIdx.x];
}

template <typename V>
static void add_columns(const V* x, V* out, std::size_t rows, std::size_t units) {
  unsigned width = 1;
  while (width < 32 && width < units) width *= 2;
  const std::size_t tiles = ceil_div(units, width), most = rows * width / (16 * kBlock);
  const std::size_t slices = slices_for(tiles, resident_blocks(col_sum_narrow<V>, kBlock), most);
  const std::size_t height = ceil_div(rows, slices);
  V* partials = slices > 1 ? scratch<V>(slices * units) : out;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
  col_sum_narrow<V><<<grid, kBlock>>>(x, partials, rows, units, width, height);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  width = std::min(width, 8u);
  const auto blocks = static_cast<unsigned>(ceil_div(units, width));
  col_sum_narrow<V><<<blocks, kBlock>>>(partials, out, slices, units, width, slices);
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
