// Problem:  in step 03 a block waits for each tile before it multiplies.
// Idea:     a pipeline of 4 stages: while one tile is multiplied, the next 3 are in flight. One barrier per tile.
// Expect:   1.3 to 1.9x step 03, 0.5 to 0.8x cuDNN at C = K = 64. At 56 x 56 pixels, C = K = 64, all blocks copy 173 MB
//           from L2 for 7.4 GFLOP.
// Measured: 1.31x step 03, 0.72x cuDNN at 56x56x64x64 (H200).
// Next:     a pixel is copied for nine taps. Can they share a copy?
// needs: sm_80
#include "conv2d_channels.cuh"
#include "padded_channels.cuh"
#include "pixel_tile.cuh"
#include "taps_inside.cuh"

constexpr int kStages = 4;  // 48 KB

// C is a multiple of 8, and `in` and `filters` are 16-byte aligned.
__global__ void __launch_bounds__(kThreads)
    conv2d_channels_pipeline(const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ filters,
                             __nv_bfloat16* __restrict__ out, std::int64_t pixels, int H, int W, int C, int K,
                             unsigned tiles_k, bool pairs) {
  __shared__ __align__(16) Operands stages[kStages];
  const std::int64_t pixel0 = std::int64_t{blockIdx.x / tiles_k} * BM;
  const int filter0 = blockIdx.x % tiles_k * BN;
  // This thread copies the same chunk of every 32nd row: channels c to c + 7 at a tap.
  const int chunk = threadIdx.x % (BK / 8), row = threadIdx.x / (BK / 8), length = 9 * C;
  constexpr int kRows = kThreads / (BK / 8);
  const __nv_bfloat16* pixel = in + (pixel0 + row) * C;
  const __nv_bfloat16* weight = filters + (filter0 + row) * std::int64_t{length} + chunk * 8;
  unsigned inside[BM / kRows];
#pragma unroll
  for (int i = 0; i < BM / kRows; ++i) inside[i] = taps_inside(pixel0 + row + i * kRows, pixels, H, W);
  int tap = 0, c = chunk * 8;
  for (; c >= C; c -= C) ++tap;
  const auto copy = [&](int t) {
    Operands& to = stages[t % kStages];
    const std::int64_t offset = (std::int64_t{W} * (tap / 3 - 1) + tap % 3 - 1) * C + c;
#pragma unroll
    for (int i = 0; i < BM / kRows; ++i) {  // taps past the end, 9 and more, are never inside
      cp_async_16(&to.pixels[swizzled<BK>(row + i * kRows, chunk)], pixel + std::int64_t{i} * kRows * C + offset,
                  inside[i] >> tap & 1 ? 16 : 0);
    }
#pragma unroll
    for (int i = 0; i < BN / kRows; ++i) {
      cp_async_16(&to.filters[swizzled<BK>(row + i * kRows, chunk)], weight + std::int64_t{i} * kRows * length + t * BK,
                  tap < 9 && filter0 + row + i * kRows < K ? 16 : 0);
    }
    for (c += BK; c >= C; c -= C) ++tap;
  };

  const int tiles = ceil_div(length, BK);
  Sums sums = {};
  // prologue: kStages - 1 tiles in flight
  for (int t = 0; t < kStages - 1; ++t) {
    if (t < tiles) copy(t);
    cp_async_commit();  // may be empty, so that there is always one group per tile
  }
  // main loop
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<kStages - 2>();
    __syncthreads();  // tile t has arrived, and all threads have used tile t - 1
    if (t + kStages - 1 < tiles) copy(t + kStages - 1);
    cp_async_commit();
    multiply(sums, stages[t % kStages]);
  }
  store(sums, out, pixel0, pixels, filter0, K, pairs);
}

static void launch(const __nv_bfloat16* in, const __nv_bfloat16* filters, __nv_bfloat16* out, std::size_t N,
                   std::size_t H, std::size_t W, std::size_t C, std::size_t K) {
  const std::size_t pixels = N * H * W;
  if (pixels == 0 || K == 0) return;
  if (C == 0) {  // empty sums
    CUDA_CHECK(cudaMemsetAsync(out, 0, pixels * K * sizeof *out));
    return;
  }
  in = padded_channels<struct Images>(in, pixels, C);
  filters = padded_channels<struct Filters>(filters, K * 9, C);
  const auto tiles = static_cast<unsigned>(ceil_div(pixels, BM)), tiles_k = static_cast<unsigned>(ceil_div(K, BN));
  conv2d_channels_pipeline<<<tiles * tiles_k, kThreads>>>(
      in, filters, out, pixels, static_cast<int>(H), static_cast<int>(W), static_cast<int>(padded(C)),
      static_cast<int>(K), tiles_k, K % 2 == 0 && aligned_for<__nv_bfloat162>(out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2dChannels, launch);
