// Problem:  in step 04 each pixel of a tile is copied for each of the nine taps.
// Idea:     the three taps of a filter row share a tile of 128 pixels and one on either side: tap j's fragments begin j
//           rows further down. For a tap outside the image a lane gives ldmatrix the address of zeros.
// Expect:   1.1 to 1.5x step 04 at C = K = 64, where blocks copy 97 MB instead of 173 MB; less with more channels.
// Measured: 1.11x step 04, 0.80x cuDNN at 56x56x64x64 (H200).
// Next:     a warp multiplies from registers. What multiplies from shared memory? (wgmma, gemm_bf16_04)
// needs: sm_80
#include "conv2d_channels.cuh"
#include "padded_channels.cuh"
#include "pixel_tile.cuh"
#include "taps_inside.cuh"

constexpr int kTile = BM + 2;  // pixels

// C is a multiple of 8, and `in` and `filters` are 16-byte aligned.
__global__ void __launch_bounds__(kThreads)
    conv2d_channels_tap_rows(const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ filters,
                             __nv_bfloat16* __restrict__ out, std::int64_t pixels, int H, int W, int C, int K,
                             unsigned tiles_k, bool pairs) {
  __shared__ __align__(128) __nv_bfloat16 tile[2][kTile * BK], weights[2][3][BN * BK], zeros[64];
  if (threadIdx.x < 64) zeros[threadIdx.x] = __float2bfloat16(0.0f);
  const std::int64_t pixel0 = std::int64_t{blockIdx.x / tiles_k} * BM;
  const int filter0 = blockIdx.x % tiles_k * BN;
  // Stage t: 32 channels and row t % 3 of the filters. This thread copies the same chunk of every 32nd row.
  const int chunk = threadIdx.x % (BK / 8), row = threadIdx.x / (BK / 8), length = 9 * C;
  constexpr int kRows = kThreads / (BK / 8);
  const __nv_bfloat16* weight = filters + (filter0 + row) * std::int64_t{length} + chunk * 8;
  const auto copy = [&](int t) {
    const int c0 = t / 3 * BK, channels = C - c0 - chunk * 8;  // channels left from this chunk on
    const std::int64_t pixel = pixel0 - 1 + row + std::int64_t{W} * (t % 3 - 1);
    const __nv_bfloat16* from = in + pixel * C + c0 + chunk * 8;
#pragma unroll
    for (int x = 0; row + x < kTile; x += kRows) {
      const bool there = pixel + x >= 0 && pixel + x < pixels && channels > 0;
      cp_async_16(&tile[t % 2][swizzled<BK>(row + x, chunk)], from + std::int64_t{x} * C, there ? 16 : 0);
    }
#pragma unroll
    for (int j = 0; j < 3; ++j) {
#pragma unroll
      for (int i = 0; i < BN; i += kRows) {
        cp_async_16(&weights[t % 2][j][swizzled<BK>(row + i, chunk)],
                    weight + std::int64_t{i} * length + (t % 3 * 3 + j) * C + c0,
                    channels > 0 && filter0 + row + i < K ? 16 : 0);
      }
    }
    cp_async_commit();
  };

  unsigned inside[WM / 16];
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) inside[i] = taps_inside(pixel0 + lane_row() + i * 16, pixels, H, W);
  const int tiles = 3 * ceil_div(C, BK);
  Sums sums = {};
  copy(0);
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<0>();
    __syncthreads();  // stage t has arrived, and all threads have used stage t - 1
    if (t + 1 < tiles) copy(t + 1);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const auto chunk_of = [&](int i, int chunk) {
        const int place = swizzled<BK>(lane_row() + j, chunk);  // zeros in the same banks: no conflicts
        return inside[i] >> (t % 3 * 3 + j) & 1 ? &tile[t % 2][place + i * 16 * BK] : &zeros[place % 64];
      };
      multiply(sums, chunk_of, weights[t % 2][j], C - t / 3 * BK);
    }
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
  conv2d_channels_tap_rows<<<tiles * tiles_k, kThreads>>>(
      in, filters, out, pixels, static_cast<int>(H), static_cast<int>(W), static_cast<int>(padded(C)),
      static_cast<int>(K), tiles_k, K % 2 == 0 && aligned_for<__nv_bfloat162>(out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2dChannels, launch);
