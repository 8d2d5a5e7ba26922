// Problem:  step 01 does one product per lane and FMA. A tensor core instruction does 16 x 8 x 16 products per warp.
// Idea:     im2col: copy the 9 C elements that a pixel's results need into a row of a matrix, 0 for the padding. The
//           rest is a product of this matrix, N H W x 9 C, and the transpose of the filters, which are K x 9 C.
// Expect:   0.15 to 0.3x cuDNN at C = K = 64: the matrix has 9 times the bytes of `in`, and is written and read again.
// Measured: 129x step 01, 0.26x cuDNN at 56x56x64x64 (H200).
// Next:     every element of the matrix is a copy of one of `in`. Why store it?
// needs: sm_80
#include "conv2d_channels.cuh"
#include "padded_channels.cuh"
#include "pixel_tile.cuh"

constexpr int kBlock = 256;

// One thread per chunk of 8 elements of the matrix. C: channels in the matrix, with padding; `channels`: in the images.
__global__ void conv2d_channels_im2col(const __nv_bfloat16* __restrict__ in, uint4* __restrict__ columns,
                                       std::size_t chunks, int H, int W, int C, int channels, bool aligned) {
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= chunks) return;
  const int c = static_cast<int>(i % (C / 8)) * 8, tap = static_cast<int>(i / (C / 8) % 9);
  const auto pixel = static_cast<unsigned>(i / (C / 8) / 9);
  const int h = pixel / W % H + tap / 3 - 1, w = pixel % W + tap % 3 - 1;
  uint4 chunk = make_uint4(0, 0, 0, 0);
  if (h >= 0 && h < H && w >= 0 && w < W) {
    const auto from = in + (std::int64_t{pixel} + (tap / 3 - 1) * std::int64_t{W} + tap % 3 - 1) * channels + c;
    chunk = aligned ? *reinterpret_cast<const uint4*>(from) : load_chunk_guarded(from, channels - c);
  }
  columns[i] = chunk;
}

// Computes out = columns filters^T. columns has `pixels` rows of `length` elements.
__global__ void __launch_bounds__(kThreads)
    conv2d_channels_product(const __nv_bfloat16* __restrict__ columns, const __nv_bfloat16* __restrict__ filters,
                            __nv_bfloat16* __restrict__ out, std::int64_t pixels, int length, int K, unsigned tiles_k,
                            bool pairs) {
  __shared__ __align__(16) Operands tile;
  const std::int64_t pixel0 = std::int64_t{blockIdx.x / tiles_k} * BM;
  const int filter0 = blockIdx.x % tiles_k * BN;
  // This thread copies the same chunk of every 32nd row.
  const int chunk = threadIdx.x % (BK / 8), row = threadIdx.x / (BK / 8);
  constexpr int kRows = kThreads / (BK / 8);
  const __nv_bfloat16* column = columns + (pixel0 + row) * length + chunk * 8;
  const __nv_bfloat16* weight = filters + (filter0 + row) * std::int64_t{length} + chunk * 8;
  Sums sums = {};
  for (int k0 = 0; k0 < length; k0 += BK) {
    // load; past the edges a copy of 0 bytes writes zeros and reads nothing
#pragma unroll
    for (int i = 0; i < BM / kRows; ++i) {
      cp_async_16(&tile.pixels[swizzled<BK>(row + i * kRows, chunk)], column + std::int64_t{i} * kRows * length + k0,
                  k0 + chunk * 8 < length && pixel0 + row + i * kRows < pixels ? 16 : 0);
    }
#pragma unroll
    for (int i = 0; i < BN / kRows; ++i) {
      cp_async_16(&tile.filters[swizzled<BK>(row + i * kRows, chunk)], weight + std::int64_t{i} * kRows * length + k0,
                  k0 + chunk * 8 < length && filter0 + row + i * kRows < K ? 16 : 0);
    }
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
  const std::size_t pixels = N * H * W, length = 9 * padded(C), chunks = pixels * length / 8;
  if (pixels == 0 || K == 0) return;
  if (C == 0) {  // empty sums
    CUDA_CHECK(cudaMemsetAsync(out, 0, pixels * K * sizeof *out));
    return;
  }
  filters = padded_channels<struct Filters>(filters, K * 9, C);
  uint4* columns = scratch<uint4, struct Columns>(chunks);
  conv2d_channels_im2col<<<static_cast<unsigned>(ceil_div(chunks, kBlock)), kBlock>>>(
      in, columns, chunks, static_cast<int>(H), static_cast<int>(W), static_cast<int>(padded(C)), static_cast<int>(C),
      C % 8 == 0 && aligned_for<uint4>(in));
  CUDA_CHECK(cudaGetLastError());
  const auto tiles = static_cast<unsigned>(ceil_div(pixels, BM)), tiles_k = static_cast<unsigned>(ceil_div(K, BN));
  conv2d_channels_product<<<tiles * tiles_k, kThreads>>>(reinterpret_cast<const __nv_bfloat16*>(columns), filters, out,
                                                         pixels, static_cast<int>(length), static_cast<int>(K), tiles_k,
                                                         K % 2 == 0 && aligned_for<__nv_bfloat162>(out));
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2dChannels, launch);
