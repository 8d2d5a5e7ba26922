// Steps 02 to 05 move 4 bytes per instruction. Idea: a thread takes 4 neighbouring columns and kRows rows. Per row it
// loads a float4 and the two pixels to its right, and keeps the 4 sums along the row; three of those, one below the
// other, give 4 pixels. The window slides down through registers: no shared memory, no barrier. All loads are
// independent and under way at once. Two rows per thread are enough: the rows that blocks have in common come from L2.
// Rows must start at multiples of 16 bytes: cols % 4 == 0 and aligned images; else the same with 4-byte accesses.
// Expect: a copy's speed.
// Next question: why not subtract the row that leaves the window and add the one that enters, one load per row? (The
// rounding errors of all rows above would stay in the sum, and after one infinity it is NaN for ever.)
#include "blur.cuh"

constexpr int kBlockX = 128, kBlockY = 4;  // threads
constexpr int kRows = 2;                   // of each

// The sums over columns col .. col + 2, col + 1 .. col + 3, and so on.
template <bool kVector>
static __device__ float4 sums_along(const float* __restrict__ row, long long col, long long cols) {
  float p[6];
  if (kVector) {
    const float4 own = *reinterpret_cast<const float4*>(row + col);
    const bool last = col + 4 >= cols;
    const float2 right = last ? make_float2(own.w, own.w) : *reinterpret_cast<const float2*>(row + col + 4);
    p[0] = own.x, p[1] = own.y, p[2] = own.z, p[3] = own.w, p[4] = right.x, p[5] = right.y;
  } else {
#pragma unroll
    for (int x = 0; x < 6; ++x) p[x] = row[min(col + x, cols - 1)];
  }
  return make_float4(p[0] + p[1] + p[2], p[1] + p[2] + p[3], p[2] + p[3] + p[4], p[3] + p[4] + p[5]);
}

template <bool kVector>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    blur_register_window(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                         unsigned tiles_x) {
  const long long col = (static_cast<long long>(blockIdx.x % tiles_x) * kBlockX + threadIdx.x) * 4;
  const long long row0 = (static_cast<long long>(blockIdx.x / tiles_x) * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;
  float4 sums[kRows + kWindow - 1];
#pragma unroll
  for (int r = 0; r < kRows + kWindow - 1; ++r) {
    sums[r] = sums_along<kVector>(in + min(row0 + r, rows - 1) * cols, col, cols);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    const float4 a = sums[r], b = sums[r + 1], c = sums[r + 2];
    const float mean[4] = {(a.x + b.x + c.x) * kNinth, (a.y + b.y + c.y) * kNinth, (a.z + b.z + c.z) * kNinth,
                           (a.w + b.w + c.w) * kNinth};
    float* to = out + (row0 + r) * cols + col;
    if (kVector) {
      *reinterpret_cast<float4*>(to) = make_float4(mean[0], mean[1], mean[2], mean[3]);
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (col + x < cols) to[x] = mean[x];
      }
    }
  }
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kRows * kBlockY));
  const bool vector = aligned_for<float4>(in, out) && cols % 4 == 0;
  const auto kernel = vector ? blur_register_window<true> : blur_register_window<false>;
  kernel<<<tiles_x * tiles_y, dim3(kBlockX, kBlockY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
