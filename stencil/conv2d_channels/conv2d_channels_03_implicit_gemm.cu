// Problem:  step 02 writes a matrix of 9 times the bytes of `in`, and reads it again.
// Idea:     implicit GEMM: the same product, but a chunk's address in `in` is computed when it is loaded. A tile's
//           rows are pixels; k gives a tap and a channel. For taps outside the image cp.async writes zeros.
// Expect:   1.5 to 3x step 02, 0.35 to 0.6x cuDNN at C = K = 64: the nine reads of an element hit L2.
// Measured: 2.14x step 02, 0.55x cuDNN at 56x56x64x64 (H200).
// Next:     loads and products alternate. How could they overlap?
// needs: sm_80
#include "conv2d_channels.cuh"
#include "padded_channels.cuh"
#include "pixel_tile.cuh"
#include "taps_inside.cuh"

// C is a multiple of 8, and `in` and `filters` are 16-byte aligned.
__global__ void __launch_bounds__(kThreads)
    conv2d_channels_implicit(const __nv_bfloat16* __restrict__ in, const __nv_bfloat16* __restrict__ filters,
                             __nv_bfloat16* __restrict__ out, std::int64_t pixels, int H, int W, int C, int K,
                             unsigned tiles_k, bool pairs) {
  __shared__ __align__(16) Operands tile;
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
  Sums sums = {};
  for (int k0 = 0; k0 < length; k0 += BK) {
    // load; a copy of 0 bytes writes zeros and reads nothing
    const std::int64_t offset = (std::int64_t{W} * (tap / 3 - 1) + tap % 3 - 1) * C + c;
#pragma unroll
    for (int i = 0; i < BM / kRows; ++i) {  // taps past the end, 9 and more, are never inside
      cp_async_16(&tile.pixels[swizzled<BK>(row + i * kRows, chunk)], pixel + std::int64_t{i} * kRows * C + offset,
                  inside[i] >> tap & 1 ? 16 : 0);
    }
#pragma unroll
    for (int i = 0; i < BN / kRows; ++i) {
      cp_async_16(&tile.filters[swizzled<BK>(row + i * kRows, chunk)], weight + std::int64_t{i} * kRows * length + k0,
                  tap < 9 && filter0 + row + i * kRows < K ? 16 : 0);
    }
    for (c += BK; c >= C; c -= C) ++tap;
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    multiply(sums, tile);
    __syncthreads();
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
  conv2d_channels_implicit<<<tiles * tiles_k, kThreads>>>(
      in, filters, out, pixels, static_cast<int>(H), static_cast<int>(W), static_cast<int>(padded(C)),
      static_cast<int>(K), tiles_k, K % 2 == 0 && aligned_for<__nv_bfloat162>(out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2dChannels, launch);
