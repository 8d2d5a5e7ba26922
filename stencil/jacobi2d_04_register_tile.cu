// Step 03 stores everything in the tile to load it again. Idea: a tile in registers. A thread has 4 columns x kRows
// rows, and loads kRows + 2 float4, one below the other, all independent; of the columns to the left and right it needs
// one cell each per row, which L1 has from the neighbouring lanes. What blocks have in common comes from L1 and L2: no
// shared memory, no barrier, half of step 03's instructions. Rows must start at multiples of 16 bytes: cols % 4 == 0
// and aligned arrays; else the same with 4-byte accesses.
// Expect: a copy's speed.
// Next question: this is what one time step costs. Must each one be read from memory and written back?
#include "jacobi2d.cuh"

constexpr int kBlockX = 128, kBlockY = 4;  // threads
constexpr int kRows = 2;                   // of each

template <bool kVector>
static __device__ float4 load4(const float* __restrict__ row, long long col, long long cols) {
  if (kVector) return *reinterpret_cast<const float4*>(row + col);
  const long long last = cols - 1;  // what lies beyond is not used
  return make_float4(row[col], row[min(col + 1, last)], row[min(col + 2, last)], row[min(col + 3, last)]);
}

template <bool kVector>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    jacobi2d_register_tile(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                           unsigned tiles_x) {
  const long long col = (static_cast<long long>(blockIdx.x % tiles_x) * kBlockX + threadIdx.x) * 4;
  const long long row0 = (static_cast<long long>(blockIdx.x / tiles_x) * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;
  float4 v[kRows + 2];  // from row0 - 1 on
  float left[kRows], right[kRows];
#pragma unroll
  for (int r = 0; r < kRows + 2; ++r) {
    const float* row = in + min(max(row0 + r - 1, 0LL), rows - 1) * cols;
    v[r] = load4<kVector>(row, col, cols);
    if (r == 0 || r > kRows) continue;
    left[r - 1] = row[max(col - 1, 0LL)];
    right[r - 1] = row[min(col + 4, cols - 1)];
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const long long row = row0 + r;
    if (row >= rows) break;
    const float4 south = v[r], here = v[r + 1], north = v[r + 2];
    float cell[4] = {0.25f * (left[r] + here.y + south.x + north.x), 0.25f * (here.x + here.z + south.y + north.y),
                     0.25f * (here.y + here.w + south.z + north.z), 0.25f * (here.z + right[r] + south.w + north.w)};
    const float old[4] = {here.x, here.y, here.z, here.w};
    const bool border_row = row == 0 || row == rows - 1;
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if (border_row || col + x == 0 || col + x == cols - 1) cell[x] = old[x];
    }
    float* to = out + row * cols + col;
    if (kVector) {
      *reinterpret_cast<float4*>(to) = make_float4(cell[0], cell[1], cell[2], cell[3]);
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (col + x < cols) to[x] = cell[x];
      }
    }
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols, std::size_t steps) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kRows * kBlockY));
  ping_pong(in, out, rows * cols, steps, [&](const float* from, float* to) {
    const bool vector = aligned_for<float4>(from, to) && cols % 4 == 0;
    const auto kernel = vector ? jacobi2d_register_tile<true> : jacobi2d_register_tile<false>;
    kernel<<<tiles_x * tiles_y, dim3(kBlockX, kBlockY)>>>(from, to, rows, cols, tiles_x);
    CUDA_CHECK(cudaGetLastError());
  });
}

LADDER_STEP(Jacobi2d, launch);
