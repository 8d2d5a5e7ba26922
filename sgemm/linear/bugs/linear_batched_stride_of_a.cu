// bug: W's layers are taken to be m x k apart, like A's; right only if m = n
// caught by: cpu forward | is wrong
// caught by: gpu | is wrong
// stage: right
#include "../gelu_tanh.cuh"
#include "../linear_batched.cuh"

constexpr unsigned kTile = 16;

// blockIdx is (tile, layer).
__global__ void linear_batched_stride_of_a(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ W,
                                           const __nv_bfloat16* __restrict__ bias, __nv_bfloat16* __restrict__ C,
                                           std::size_t M, std::size_t N, std::size_t K, unsigned tiles_n) {
  __shared__ float As[kTile][kTile], Ws[kTile][kTile + 1];
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t layer = blockIdx.y;
  A += layer * M * K;
  W += layer * M * K;
  bias += layer * N;
  C += layer * M * N;
  const std::size_t row = std::size_t{blockIdx.x / tiles_n} * kTile + ty,
                    col0 = std::size_t{blockIdx.x % tiles_n} * kTile;
  const std::size_t col = col0 + tx;
  float sum = 0.0f;
  for (std::size_t k0 = 0; k0 < K; k0 += kTile) {
    As[ty][tx] = row < M && k0 + tx < K ? __bfloat162float(A[row * K + k0 + tx]) : 0.0f;
    Ws[ty][tx] = col0 + ty < N && k0 + tx < K ? __bfloat162float(W[(col0 + ty) * K + k0 + tx]) : 0.0f;
    __syncthreads();
    for (unsigned l = 0; l < kTile; ++l) sum += As[ty][l] * Ws[tx][l];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = __float2bfloat16(gelu_tanh(sum + __bfloat162float(bias[col])));
}

static void launch(const __nv_bfloat16* A, const __nv_bfloat16* W, const __nv_bfloat16* bias, __nv_bfloat16* C,
                   std::size_t b, std::size_t M, std::size_t N, std::size_t K) {
  if (b == 0 || M == 0 || N == 0) return;
  const auto tiles_m = static_cast<unsigned>(ceil_div(M, kTile)), tiles_n = static_cast<unsigned>(ceil_div(N, kTile));
  const dim3 grid(tiles_m * tiles_n, static_cast<unsigned>(b)), block(kTile, kTile);
  linear_batched_stride_of_a<<<grid, block>>>(A, W, bias, C, M, N, K, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(LinearBatched, launch);
