// In step 02 every thread of a row loads the same elements of A, one after another. Idea: a block takes 256 columns of
// one row of C and keeps the row of A, a piece at a time, in shared memory: its threads load the piece together,
// coalesced, and each reads all of it. A barrier before the first read, another before the next piece overwrites it.
// Threads beyond the last column must not leave: they load, and the barriers count them.
// B is read coalesced, but a row of it starts on a 128-byte line only if ldb is a multiple of 32: else each request of
// a warp touches one more sector. Hence "pitched" rows, as cudaMallocPitch gives them: pass the pitch as ldb.
// Expect: no gain, perhaps a loss. A's element was a broadcast from L1 before and is one from shared memory now, while
// step 02's blocks took 32 rows and so shared the elements of B in L1; here 32 rows are 32 blocks.
// Next question: then which part is worth keeping in shared memory? (Tiles of both, so that both are used many times.)
#include "sgemm.cuh"

constexpr unsigned kBlock = 256;

__global__ void sgemm_row_in_shared(std::size_t n, std::size_t k, float alpha, const float* __restrict__ A,
                                    std::size_t lda, const float* __restrict__ B, std::size_t ldb, float beta,
                                    float* __restrict__ C, std::size_t ldc, unsigned tiles_n) {
  __shared__ float a[kBlock];
  const std::size_t row = blockIdx.x / tiles_n;
  const std::size_t column = std::size_t{blockIdx.x % tiles_n} * kBlock + threadIdx.x;
  float sum = 0.0f;
  for (std::size_t l0 = 0; l0 < k; l0 += kBlock) {
    if (l0 + threadIdx.x < k) a[threadIdx.x] = A[row * lda + l0 + threadIdx.x];
    __syncthreads();
    const unsigned count = column < n ? static_cast<unsigned>(min(std::size_t{kBlock}, k - l0)) : 0;
    for (unsigned l = 0; l < count; ++l) sum += a[l] * B[(l0 + l) * ldb + column];
    __syncthreads();
  }
  if (column >= n) return;
  float* c = &C[row * ldc + column];
  *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
}

static void launch(std::size_t m, std::size_t n, std::size_t k, float alpha, const float* A, std::size_t lda,
                   const float* B, std::size_t ldb, float beta, float* C, std::size_t ldc) {
  if (m == 0 || n == 0) return;
  if (alpha == 0) k = 0;  // A and B are not read
  const auto tiles_n = static_cast<unsigned>(ceil_div(n, kBlock));
  const auto blocks = static_cast<unsigned>(m * tiles_n);
  sgemm_row_in_shared<<<blocks, kBlock>>>(n, k, alpha, A, lda, B, ldb, beta, C, ldc, tiles_n);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Sgemm, launch);
