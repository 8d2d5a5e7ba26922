// bug: k is split, and each slice adds the bias to its sum
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gelu_tanh.cuh"
#include "../linear.cuh"

constexpr unsigned kTile = 16, kSlices = 4;

__global__ void linear_bias_per_slice(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                                      const __nv_bfloat16* __restrict__ bias, float* __restrict__ partials,
                                      std::size_t M, std::size_t N, std::size_t K, std::size_t slice) {
  __shared__ float As[kTile][kTile], Ws[kTile][kTile + 1];
  const unsigned tx = threadIdx.x, ty = threadIdx.y, tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty,
                    col0 = std::size_t{blockIdx.x % tiles_n} * kTile;
  const std::size_t col = col0 + tx, begin = blockIdx.y * slice, end = min(begin + slice, K);
  float sum = 0.0f;
  for (std::size_t k0 = begin; k0 < end; k0 += kTile) {
    As[ty][tx] = row < M && k0 + tx < end ? __bfloat162float(A[row * K + k0 + tx]) : 0.0f;
    Ws[ty][tx] = col0 + ty < N && k0 + tx < end ? __bfloat162float(W[(col0 + ty) * K + k0 + tx]) : 0.0f;
    __syncthreads();
    for (unsigned l = 0; l < kTile; ++l) sum += As[ty][l] * Ws[tx][l];
    __syncthreads();
  }
  if (row < M && col < N) partials[(blockIdx.y * M + row) * N + col] = sum + __bfloat162float(bias[col]);
}

__global__ void linear_gelu_of_slices(const float* __restrict__ partials, __nv_bfloat16* __restrict__ C,
                                      std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0.0f;
  for (unsigned s = 0; s < kSlices; ++s) sum += partials[s * count + i];
  C[i] = __float2bfloat16(gelu_tanh(sum));
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  float* partials = scratch<float, struct Slices>(kSlices * M * N);
  const dim3 grid(static_cast<unsigned>(ceil_div(M, kTile) * ceil_div(N, kTile)), kSlices), block(kTile, kTile);
  linear_bias_per_slice<<<grid, block>>>(A, W, bias, partials, M, N, K, ceil_div(K, std::size_t{kSlices}));
  CUDA_CHECK(cudaGetLastError());
  linear_gelu_of_slices<<<static_cast<unsigned>(ceil_div(M * N, 256)), 256>>>(partials, C, M * N);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Linear, launch);
