// Step 03 has one fma per load. Idea: a thread computes 4 columns x kRows rows and keeps all their sums in registers.
// It goes through the input rows; of each it holds 12 pixels, columns col - 4 to col + 7 (three float4, two of which
// the neighbouring lanes bring to L1 anyway), and adds them to the up to k output rows that they belong to. At k = 7
// that is up to 112 fma for 3 loads. No shared memory, no barrier. Rows must start at multiples of 16 bytes: cols % 4
// == 0 and aligned images; else the same with 4-byte accesses.
// Expect: near a copy at k = 3 and 5; at k = 7 the fma alone take more than half as long as the copy, and hide behind
// it only in part.
// Next question: how many rows? (More rows, fewer loads per pixel, (kRows + k - 1) / kRows; but fewer threads, each
// with more registers and a longer body, which has to fit the instruction cache.)
#include "conv2d.cuh"

constexpr int kBlockX = 64, kBlockY = 4;  // threads
constexpr int kRows = 4;                  // of each

static __constant__ float conv2d_block_w[kMostTaps];

// Columns col - 4 to col + 7 of a row, 0 outside.
template <int K, bool kVector>
static __device__ void load_window(const float* __restrict__ row, long long col, long long cols, float window[12]) {
  if (kVector) {
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

template <int K, bool kVector>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    conv2d_register_blocking(const float* __restrict__ in, float* __restrict__ out, long long rows, long long cols,
                             unsigned tiles_x) {
  const long long col = (static_cast<long long>(blockIdx.x % tiles_x) * kBlockX + threadIdx.x) * 4;
  const long long row0 = (static_cast<long long>(blockIdx.x / tiles_x) * kBlockY + threadIdx.y) * kRows;
  if (row0 >= rows || col >= cols) return;
  float sum[kRows][4] = {};
#pragma unroll
  for (int r = 0; r < kRows + K - 1; ++r) {
    const long long row = row0 + r - K / 2;
    float window[12] = {};
    if (row >= 0 && row < rows) load_window<K, kVector>(in + row * cols, col, cols, window);
#pragma unroll
    for (int i = 0; i < K; ++i) {  // the weights' row i takes this row to output row r - i
      if (r - i < 0 || r - i >= kRows) continue;
#pragma unroll
      for (int j = 0; j < K; ++j) {
#pragma unroll
        for (int x = 0; x < 4; ++x) sum[r - i][x] += conv2d_block_w[i * K + j] * window[4 + x + j - K / 2];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (row0 + r >= rows) break;
    float* to = out + (row0 + r) * cols + col;
    if (kVector) {
      __stcs(reinterpret_cast<float4*>(to), make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
    } else {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (col + x < cols) to[x] = sum[r][x];
      }
    }
  }
}

template <int K>
static void launch_k(const float* in, float* out, std::size_t rows, std::size_t cols, bool vector) {
  const dim3 block(kBlockX, kBlockY);
  const auto tiles_x = static_cast<unsigned>(ceil_div(cols, 4 * kBlockX));
  const auto tiles_y = static_cast<unsigned>(ceil_div(rows, kRows * kBlockY));
  const auto kernel = vector ? conv2d_register_blocking<K, true> : conv2d_register_blocking<K, false>;
  kernel<<<tiles_x * tiles_y, block>>>(in, out, rows, cols, tiles_x);
  CUDA_CHECK(cudaGetLastError());
}

static void launch(const float* in, const float* w, float* out, std::size_t rows, std::size_t cols, int k) {
  if (rows == 0 || cols == 0) return;
  const bool vector = aligned_for<float4>(in, out) && cols % 4 == 0;
  CUDA_CHECK(cudaMemcpyToSymbol(conv2d_block_w, w, k * k * sizeof(float), 0, cudaMemcpyDeviceToDevice));
  const auto launch_size = k == 3 ? launch_k<3> : k == 5 ? launch_k<5> : launch_k<7>;
  launch_size(in, out, rows, cols, vector);
}

LADDER_STEP(Conv2d, launch);
