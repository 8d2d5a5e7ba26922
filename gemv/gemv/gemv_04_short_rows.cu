// Problem:  step 03 gives a row of 32 floats to 32 lanes, 24 of which have nothing to load.
// Idea:     several rows per warp. A row has as many lanes as float4, rounded up to a power of two, at most 32.
// Expect:   up to 4x step 03 at 2^20x32: four times as many lanes load. Slower for long rows: a loop with a variable
//           stride is unrolled less well.
// Measured: 3.52x step 03, 1.57x cuBLAS at 2^20x32 (H200); 3.03x, 1.34x (H100).
// Next:     why no early return here? (Some rows of a warp may lie past m, and the shuffles name all 32 lanes.)
#include "../float4.cuh"
#include "gemv.cuh"

// lanes: threads per row, a power of two up to 32
__global__ void gemv_short_rows(std::size_t m, std::size_t k, float alpha, const float* __restrict__ A, std::size_t lda,
                                const float* __restrict__ x, float beta, float* __restrict__ y, bool aligned,
                                unsigned lanes) {
  const unsigned lane = threadIdx.x % lanes;
  const std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes;
  // load: no early return, since all lanes must reach the shuffles
  float sum = 0.0f;
  if (row < m) {
    const float* a = A + row * lda;
    const float4* a4 = reinterpret_cast<const float4*>(a);
    const float4* x4 = reinterpret_cast<const float4*>(x);
    const std::size_t k4 = aligned ? k / 4 : 0;
    for (std::size_t j = lane; j < k4; j += lanes) sum += dot4(a4[j], x4[j]);
    for (std::size_t j = 4 * k4 + lane; j < k; j += lanes) sum += a[j] * x[j];
  }
  // reduce to each row's lane 0, which no value of another row reaches
  for (unsigned offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (row < m && lane == 0) y[row] = beta == 0.0f ? alpha * sum : alpha * sum + beta * y[row];
}

static void launch(std::size_t m, std::size_t k, float alpha, const float* A, std::size_t lda, const float* x,
                   float beta, float* y) {
  if (m == 0) return;
  if (alpha == 0) k = 0;  // A and x are not read
  constexpr int block = 256;
  const bool aligned = aligned_for<float4>(A, x) && lda % 4 == 0;
  unsigned lanes = 1;
  while (lanes < 32 && 4 * lanes < k) lanes *= 2;
  const auto grid = static_cast<unsigned>(ceil_div(m, block / lanes));
  gemv_short_rows<<<grid, block>>>(m, k, alpha, A, lda, x, beta, y, aligned, lanes);
  CUDA_CHECK(cudaGetLastError());
}

LADDER_STEP(Gemv, launch);
