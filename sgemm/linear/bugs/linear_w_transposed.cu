// bug: W is read as k x n, like gemm_bf16's B; a layer stores it as n x k
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gelu_tanh.cuh"
#include "../linear.cuh"

constexpr unsigned kTile = 16;

__global__ void linear_w_transposed(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                                    const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C,
                                    std::size_t M, std::size_t N, std::size_t K, unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Ws[kTile][kTile + 1];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty,
                    col0 = std::size_t{blockIdx.x % tiles_n} * kTile;
  const std::size_t col = col0 + tx;
  float sum = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    As[ty][tx] = row < M && k0 + tx < K ? __bfloat162float(A[row * K + k0 + tx]) : 0.0f;
    const std::size_t k = k0 + ty;  // W^T has this row
    Ws[tx][ty] = col < N && k < K ? __bfloat162float(W[k * N + col]) : 0.0f;
    __syncthreads();
    for (unsigned l = 0; l < kTile; ++l) sum += As[ty][l] * Ws[tx][l];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = __float2bfloat16(gelu_tanh(sum + __bfloat162float(bias[col])));
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  linear_w_transposed<<<tiles_m * tiles_n, dim3(kTile, kTile)>>>(A, W, bias, C, M, N, K, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Linear, launch);
