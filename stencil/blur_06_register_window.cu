// Problem:  steps 02 to 05 move 4 bytes per instruction and compute every row sum three times.
// Idea:     a thread takes 4 columns x 2 rows. Of each of 4 rows it loads a float4 and a float2, independent loads, and
//           keeps the row sums in registers. Rows that are not 16-byte aligned take 4-byte accesses.
// Expect:   0.95 to 1.0 of a copy: 8 loads, 4 of them float4, for 8 pixels; the two rows that blocks share hit L2.
// Measured: 2.96x step 05, 0.92 of a copy at 8192x8192 (H200); 1.00 of a copy (H100).
// Why:      0.995 on the H100, 0.92 on the H200 at 8192 x 8192: 1.30x the speed for 1.43x the bandwidth. The rows that
//           are loaded twice come from L2, which did not get faster (hypothesis, not tested).
// Next:     why not a running sum: add the row that enters the window, subtract the one that leaves?
#include "blur.cuh"

constexpr int kBlockX = 128, kBlockY = 4;  // threads
constexpr int kRows = 2;                   // per thread

// The sums over columns col .. col + 2, col + 1 .. col + 3, and so on. kAligned: cols % 4 == 0 and aligned images.
template <bool kAligned>
static __device__ float4 row_sums(const float* __restrict__ row, long long col, long long cols) {
  float p[6];
  if (kAligned) {
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

template <bool kAligned>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    blur_register_window(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                         unsigned tiles_x) {
  const long long col = (std::int64_t{blockIdx.x % tiles_x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (std::int64_t{blockIdx.x / tiles_x} * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;

  // load, and sum along the rows
  float4 sums[kRows + kWindow - 1];
#pragma unroll
  for (int r = 0; r < kRows + kWindow - 1; ++r) {
    sums[r] = row_sums<kAligned>(in + min(row0 + r, rows - 1) * cols, col, cols);
  }

  // sum down the columns, store
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    const float4 a = sums[r], b = sums[r + 1], c = sums[r + 2];
    const float mean[4] = {(a.x + b.x + c.x) * kNinth, (a.y + b.y + c.y) * kNinth, (a.z + b.z + c.z) * kNinth,
                           (a.w + b.w + c.w) * kNinth};
    float* to = out + (row0 + r) * cols + col;
    if (kAligned) {
      *reinterpret_cast<float4*>(to) = make_float4(mean[0], mean[1], mean[2], mean[3]);
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (col + x < cols) to[x] = mean[x];
      }
    }
  }
}

// A 2-D grid ends at 65535 blocks in y, here 524,280 rows. So all tiles count in x, which takes 2^31 - 1. The price is
// an integer division per thread, 23 instructions in step 02 (SASS): little beside 8 pixels, a sixth beside one.
static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  if (rows == 0 || cols == 0) return;
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kRows * kBlockY));
  const bool aligned = aligned_for<float4>(in, out) && cols % 4 == 0;
  const auto kernel = aligned ? blur_register_window<true> : blur_register_window<false>;
  kernel<<<tiles_x * tiles_y, dim3(kBlockX, kBlockY)>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Blur, launch);
