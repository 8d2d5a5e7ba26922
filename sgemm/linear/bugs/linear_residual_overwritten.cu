// bug: the product is stored in C, which held the residual, and a second kernel adds C as the residual
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../linear_residual.cuh"

constexpr unsigned kTile = 16;

__global__ void linear_overwriting_product(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                                           __nv_bfloat16* __restrict__ C, std::size_t M, std::size_t N, std::size_t K,
                                           unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Ws[kTile][kTile + 1];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty;
  const std::size_t col0 = std::size_t{blockIdx.x % tiles_n} * kTile, col = col0 + tx;
  float sum = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    As[ty][tx] = row < M && k0 + tx < K ? __bfloat162float(A[row * K + k0 + tx]) : 0.0f;
    Ws[ty][tx] = col0 + ty < N && k0 + tx < K ? __bfloat162float(W[(col0 + ty) * K + k0 + tx]) : 0.0f;
    __syncthreads();
    for (unsigned l = 0; l < kTile; ++l) sum += As[ty][l] * Ws[tx][l];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = __float2bfloat16(sum);
}

__global__ void linear_residual_added(const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C,
                                      std::size_t count, std::size_t N) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float product = __bfloat162float(C[i]), residual = __bfloat162float(C[i]);
  C[i] = __float2bfloat16(product + __bfloat162float(bias[i % N]) + residual);
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  linear_overwriting_product<<<tiles_m * tiles_n, dim3(kTile, kTile)>>>(A, W, C, M, N, K, tiles_n);
  CUDA_CHECK(cudaGetLastError());
  linear_residual_added<<<static_cast<unsigned>(ceil_div(M * N, 256)), 256>>>(bias, C, M * N, N);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(LinearResidual, launch);
