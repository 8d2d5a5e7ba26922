// Problem:  step 04's tiles are 32, 64 or 128 columns wide: few columns leave lanes idle, one row leaves 31 of 32 warps
//           idle, and unaligned rows take a scalar path with two rows in flight.
// Idea:     the tile width depends on the shape. `width` threads cover a row of the tile, one or four columns each, 8
//           loads in flight. In unaligned rows a thread's columns are `width` apart, so that scalar loads coalesce.
// Expect:   1.0x step 04 on square matrices with aligned rows, 1.1 to 20x where step 04 loses to cuBLAS.
// Measured: 0.99x step 04, 1.05x cuBLAS at 8192x8192 (H200); 0.99x, 1.05x (H100).
// Next:     what do 32 lanes read from rows of 31 floats? (128 neighbouring bytes: parts of two rows.)
#include "../float4.cuh"
#include "gemv_t.cuh"
#include "gemv_t_shapes.hpp"
#include "slices.cuh"

#include <algorithm>

constexpr unsigned kMaxBlock = 1024;
constexpr unsigned kLoads = 8;  // in flight per thread

// kColumns: columns per thread, 1 or 4. kVector: the four are neighbours, loaded at once; all rows must be 16-byte
// aligned and k % 4 = 0. Otherwise they are `width` apart. A block has width * kColumns columns and one of gridDim.y
// slices of `rows` rows. kWidth: `width` if compiled in (8, 16 or 32, with kMaxBlock threads), else 0. With one slice
// results go to y, else to partials[blockIdx.y * k + column]. kEvictFirst: A is read with __ldcs.
template <unsigned kColumns, bool kVector, unsigned kWidth, bool kEvictFirst>
__global__ void __launch_bounds__(kMaxBlock, 1)
    gemv_t_by_shape(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                    const float* __restrict__ x, float beta, float* __restrict__ y, unsigned any_width,
                    std::size_t rows, float* __restrict__ partials) {
  constexpr unsigned kRows = kVector ? kLoads : kLoads / kColumns;  // in flight per thread
  const unsigned width = kWidth > 0 ? kWidth : any_width;
  const unsigned row_step = (kWidth > 0 ? kMaxBlock : blockDim.x) / width, first_row = threadIdx.x / width,
                 lane = threadIdx.x % width;
  const unsigned apart = kVector ? 1 : width;
  const std::size_t column = std::size_t{blockIdx.x} * width * kColumns + (kVector ? kColumns * lane : lane);
  const std::size_t end = min((blockIdx.y + std::size_t{1}) * rows, m);

  // load: kRows rows at a time, the last ones guarded
  float sum[kColumns] = {};
  std::size_t i = blockIdx.y * rows + first_row;
  const auto add_rows = [&](bool guarded) {
    const float* first = A + i * lda + column;
    float v[kRows][kColumns];
#pragma unroll
    for (unsigned u = 0; u < kRows; ++u) {
      const float* a = first + u * row_step * lda;
      const bool inside = !guarded || i + u * row_step < end;
      if (kVector) {
        const float4 q = inside ? load4<kEvictFirst>(a) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        v[u][0] = q.x, v[u][1 % kColumns] = q.y, v[u][2 % kColumns] = q.z, v[u][3 % kColumns] = q.w;
      } else {
#pragma unroll
        for (unsigned c = 0; c < kColumns; ++c) {
          const bool valid = inside && column + c * apart < k;
          v[u][c] = !valid ? 0.0f : kEvictFirst ? __ldcs(a + c * apart) : a[c * apart];
        }
      }
    }
#pragma unroll
    for (unsigned u = 0; u < kRows; ++u) {
      const std::size_t row = i + u * row_step;
      const float w = !guarded || row < end ? x[row] : 0.0f;
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c) sum[c] += v[u][c] * w;
    }
    i += kRows * row_step;
  };
  if (first_row < row_step && column < k) {
#pragma unroll 1
    while (i + (kRows - 1) * row_step < end) add_rows(false);
    if (i < end) add_rows(true);
  }

  // reduce over threads with the same columns: within warps, then an eighth of the rows of threads adds the others
  unsigned row = first_row, rows_left = row_step;
  if constexpr (kWidth > 0) {
#pragma unroll
    for (unsigned offset = 16; offset >= kWidth; offset /= 2) {
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c) sum[c] += __shfl_down_sync(0xffffffff, sum[c], offset);
    }
    rows_left = kMaxBlock / 32;  // a row per warp, in its first kWidth lanes
    row = threadIdx.x % 32 < kWidth ? threadIdx.x / 32 : rows_left;
  }
  __shared__ float sums[kColumns][kMaxBlock];
  while (rows_left > 1) {
    const unsigned part = (rows_left + 7) / 8;
    if (row >= part && row < rows_left) {
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c) sums[c][row * width + lane] = sum[c];
    }
    __syncthreads();
    if (row < part) {
      for (unsigned r = row + part; r < rows_left; r += part) {
#pragma unroll
        for (unsigned c = 0; c < kColumns; ++c) sum[c] += sums[c][r * width + lane];
      }
    }
    rows_left = part;
  }
  // store
  if (row > 0) return;
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c) {
    const std::size_t out = column + c * apart;
    if (out >= k) return;
    if (gridDim.y > 1) {
      partials[blockIdx.y * k + out] = sum[c];
    } else {
      y[out] = beta == 0.0f ? alpha * sum[c] : alpha * sum[c] + beta * y[out];
    }
  }
}

constexpr unsigned kFinishLanes = 32, kFinishRows = 16;

// Adds the slices. A block has kFinishLanes columns; each of its kFinishRows rows of threads adds some slices.
__global__ void gemv_t_by_shape_finish(std::size_t k, unsigned slices, const float* __restrict__ partials, float alpha,
                                       float beta, float* __restrict__ y) {
  const std::size_t column = std::size_t{blockIdx.x} * kFinishLanes + threadIdx.x;
  float sum = 0.0f;
  if (column < k) {
#pragma unroll 8
    for (unsigned s = threadIdx.y; s < slices; s += kFinishRows) sum += partials[s * k + column];
  }
  __shared__ float sums[kFinishRows][kFinishLanes];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= k) return;
  for (unsigned r = 1; r < kFinishRows; ++r) sum += sums[r][threadIdx.x];
  y[column] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[column];
}

using Kernel = decltype(&gemv_t_by_shape<1, false, 0, true>);

static Kernel pick(const GemvTShape& shape, bool vector, bool evict_first) {
  if (shape.fixed_width && shape.width == 8) return gemv_t_by_shape<4, true, 8, true>;
  if (shape.fixed_width && shape.width == 16) return gemv_t_by_shape<4, true, 16, true>;
  static constexpr Kernel kernels[][2] = {{gemv_t_by_shape<1, false, 0, false>, gemv_t_by_shape<1, false, 0, true>},
                                          {gemv_t_by_shape<4, false, 0, false>, gemv_t_by_shape<4, false, 0, true>},
                                          {gemv_t_by_shape<4, true, 0, false>, gemv_t_by_shape<4, true, 0, true>},
                                          {gemv_t_by_shape<4, true, 32, false>, gemv_t_by_shape<4, true, 32, true>}};
  return kernels[shape.fixed_width ? 3 : vector ? 2 : shape.columns > 1 ? 1 : 0][evict_first];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (k == 0) return;
  if (alpha == 0) m = 0;  // A and x are not read
  const bool vector = aligned_for<float4>(A) && (lda % 4 == 0 || m <= 1) && k % 4 == 0;
  const bool evict_first = evict_first_pays(m * k * sizeof(float));
  const GemvTShape shape = gemv_t_shape(m, k, vector, evict_first, sm_count());
  const Kernel kernel = pick(shape, vector, evict_first);

  // a slice has at least 8 rows for each row of threads
  const std::size_t most = m / (std::size_t{8} * (shape.block / shape.width));
  const std::size_t resident = resident_blocks(kernel, static_cast<int>(shape.block));
  const std::size_t wanted = shape.slices > 0 ? std::min(shape.slices, most) : slices_for(shape.tiles, resident, most);
  const auto slices = static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, 65535));
  float* partials = slices > 1 ? scratch<float>(slices * k) : nullptr;
  const dim3 grid(static_cast<unsigned>(shape.tiles), slices);
  kernel<<<grid, shape.block>>>(m, k, alpha, A, lda, x, beta, y, shape.width, ceil_div(m, slices), partials);
  CUDA_CHECK(cudaGetLastError());
  if (slices == 1) return;
  const dim3 block(kFinishLanes, kFinishRows);
  gemv_t_by_shape_finish<<<static_cast<unsigned>(ceil_div(k, kFinishLanes)), block>>>(k, slices, partials, alpha, beta,
                                                                                      y);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(GemvT, launch);
