// bug: taps outside the image read the nearest pixel, as if the edge were repeated; the padding must be 0
// caught by: cpu forward | is wrong
// caught by: cpu-asan forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../conv2d_channels.cuh"

__global__ void conv2d_channels_edge_repeated(const __nv_bfloat16* __restrict__ in,
                                              const __nv_bfloat16* __restrict__ filters,
                                              __nv_bfloat16* __restrict__ out, std::size_t results, int H, int W, int C,
                                              std::size_t K) {
  const std::size_t o = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (o >= results) return;
  const auto pixel = static_cast<unsigned>(o / K);
  const int h = pixel / W % H, w = pixel % W;
  const __nv_bfloat16* image = in + (std::int64_t{pixel} - std::int64_t{h} * W - w) * C;
  const __nv_bfloat16* weight = filters + o % K * 9 * C;
  float sum = 0.0f;
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j, weight += C) {
      const int r = min(max(h + i, 0), H - 1), s = min(max(w + j, 0), W - 1);  // should skip taps outside
      const __nv_bfloat16* from = image + (std::int64_t{r} * W + s) * C;
      for (int c = 0; c < C; ++c) sum += __bfloat162float(from[c]) * __bfloat162float(weight[c]);
    }
  }
  out[o] = __float2bfloat16(sum);
}

static void launch(const __nv_bfloat16* in, const __nv_bfloat16* filters, __nv_bfloat16* out, std::size_t N,
                   std::size_t H, std::size_t W, std::size_t C, std::size_t K) {
  const std::size_t results = N * H * W * K;
  if (results == 0) return;
  conv2d_channels_edge_repeated<<<static_cast<unsigned>(ceil_div(results, 256)), 256>>>(
      in, filters, out, results, static_cast<int>(H), static_cast<int>(W), static_cast<int>(C), K);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Conv2dChannels, launch);
