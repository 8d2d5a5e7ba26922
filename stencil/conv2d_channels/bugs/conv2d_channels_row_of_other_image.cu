// bug: checks that a row is inside the batch, not inside its image: above an image's first row it reads the last row of
// the previous image
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../conv2d_channels.cuh"

__global__ void conv2d_channels_row_of_other_image(const __nv_bfloat16* __restrict__ in,
                                                   const __nv_bfloat16* __restrict__ filters,
                                                   __nv_bfloat16* __restrict__ out, std::size_t results,
                                                   std::int64_t rows, int W, int C, std::size_t K) {
  const std::size_t o = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (o >= results) return;
  const auto pixel = static_cast<unsigned>(o / K);
  const int w = pixel % W;
  const __nv_bfloat16* weight = filters + o % K * 9 * C;
  float sum = 0.0f;
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j, weight += C) {
      const std::int64_t row = std::int64_t{pixel} / W + i;  // through all images; should be h + i, from 0 to H - 1
      if (row < 0 || row >= rows || w + j < 0 || w + j >= W) continue;
      const __nv_bfloat16* from = in + (row * W + w + j) * C;
      for (int c = 0; c < C; ++c) sum += __bfloat162float(from[c]) * __bfloat162float(weight[c]);
    }
  }
  out[o] = __float2bfloat16(sum);
}

static void launch(const __nv_bfloat16* in, const __nv_bfloat16* filters, __nv_bfloat16* out, std::size_t N,
                   std::size_t H, std::size_t W, std::size_t C, std::size_t K) {
  const std::size_t results = N * H * W * K;
  if (results == 0) return;
  conv2d_channels_row_of_other_image<<<static_cast<unsigned>(ceil_div(results, 256)), 256>>>(
      in, filters, out, results, static_cast<std::int64_t>(N * H), static_cast<int>(W), static_cast<int>(C), K);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2dChannels, launch);
