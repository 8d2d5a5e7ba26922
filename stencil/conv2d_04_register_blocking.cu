// Problem:  step 03 has one FFMA per shared-memory load.
// Idea:     a thread keeps the sums of 4 columns x 4 rows in registers. It loads 12 pixels, three float4, of one input
//           row after the other, and adds them to up to K output rows. No shared memory, no barrier.
// Expect:   0.9 to 1.0 of a copy at K = 3 and 5; 0.6 to 0.85 at K = 7, where the FFMA alone (101 us at 65 TFLOP/s) take
//           more than half as long as the copy (129 us on the H200, 181 us on the H100) and hide behind it in part.
// Measured: 3.13x step 03, 0.86 of a copy at 8192x8192x5 (H200); 0.96 of a copy (H100).
// Why:      K = 5 on the H200 is 0.86, on the H100 0.96: FFMA take 52 us of 129 and of 181 us. The larger their share,
//           the less of them hides.
// Next:     how many rows per thread?
#include "conv2d.cuh"

constexpr int kBlockX = 64, kBlockY = 4;  // threads
constexpr int kRows = 4;                  // per thread

static __constant__ float conv2d_block_w[kMostTaps];

// Columns col - 4 to col + 7 of a row, 0 outside. kAligned: rows start at multiples of 16 bytes, so float4 works; else
// the columns that are needed come by 4-byte loads.
template <int K, bool kAligned>
static __device__ void load_window(const float* __restrict__ row, long long col, long long cols, float window[12]) {
  if (kAligned) {
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      const long long c = col + 4 * (v - 1);
      const bool inside = v == 1 || (v == 0 ? col > 0 : c < cols);
      const float4 four = inside ? *reinterpret_cast<const float4*>(row + c) : make_float4(0, 0, 0, 0);
      window[4 * v] = four.x, window[4 * v + 1] = four.y, window[4 * v + 2] = four.z, window[4 * v + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int x = 4 - K / 2; x < 8 + K / 2; ++x) {
      const long long c = col - 4 + x;
      window[x] = c >= 0 && c < cols ? row[c] : 0.0f;
    }
  }
}

template <int K, bool kAligned>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    conv2d_register_blocking(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                             unsigned tiles_x) {
  const long long col = (std::int64_t{blockIdx.x % tiles_x} * kBlockX + threadIdx.x) * 4;
  const long long row0 = (std::int64_t{blockIdx.x / tiles_x} * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;

  // main loop: load a row of the window, add it to every output row that it belongs to
  float sum[kRows][4] = {};
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    const long long row = row0 + r - K / 2;
    float window[12] = {};
    if (row >= 0 && row < rows) load_window<K, kAligned>(in + row * cols, col, cols, window);
#pragma unroll
    for (int i = 0; i < K; ++i) {  // row i of the weights takes this row to output row r - i
      if (r - i < 0 || r - i >= kRows) continue;
#pragma unroll
      for (int j = 0; j < K; ++j) {
#pragma unroll
        for (int x = 0; x < 4; ++x) sum[r - i][x] += conv2d_block_w[i * K + j] * window[4 + x + j - K / 2];
      }
    }
  }

  // store
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    float* to = out + (row0 + r) * cols + col;
    if (kAligned) {
      __stcs(reinterpret_cast<float4*>(to), make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (col + x < cols) to[x] = sum[r][x];
      }
    }
  }
}

// A 2-D grid ends at 65535 blocks in y. So all tiles count in x, which takes 2^31 - 1.
template <int K>
static void launch_k(const float* in, float* out, std::size_t rows, std::size_t cols, bool aligned) {
  const dim3 block(kBlockX, kBlockY);
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kRows * kBlockY));
  const auto kernel = aligned ? conv2d_register_blocking<K, true> : conv2d_register_blocking<K, false>;
  kernel<<<tiles_x * tiles_y, block>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const bool aligned = aligned_for<float4>(in, out) && cols % 4 == 0;
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_block_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  const auto launch_size = k == 3 ? launch_k<3> : k == 5 ? launch_k<5> : launch_k<7>;
  launch_size(in, out, rows, cols, aligned);
}

LADDER_STEP(Conv2d, launch);
