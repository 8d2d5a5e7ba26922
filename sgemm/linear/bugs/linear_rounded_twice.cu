// bug: the product is stored as BF16 before a second kernel adds bias and GELU, and so it is rounded twice
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gelu_tanh.cuh"
#include "../linear.cuh"

constexpr unsigned kTile = 16;

__global__ void linear_rounded_product(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
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

__global__ void linear_rounded_gelu(const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C,
                                    std::size_t count, std::size_t N) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) C[i] = __float2bfloat16(gelu_tanh(__bfloat162float(C[i]) + __bfloat162float(bias[i % N])));
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t M, std::size_t N, std::size_t K) {
  if (M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  linear_rounded_product<<<tiles_m * tiles_n, dim3(kTile, kTile)>>>(A, W, C, M, N, K, tiles_n);
  CUDA_CHECK(cudaGetLastError());
  linear_rounded_gelu<<<static_cast<unsigned>(ceil_div(M * N, 256)), 256>>>(bias, C, M * N, N);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Linear, launch);
