// bug: no barrier between two rows, so a warp's sums overwrite the previous row's sums, which others still have to read
// caught by: cpu forward | is wrong
// caught by: cpu-trace | shared memory with no barrier between
// caught by: gpu racecheck | hazard | --rows=3000 --cols=300
// stage: right
#include "../add_partials.cuh"
#include "../layer_norm_grad.cuh"

constexpr int kBlock = 256, kWarps = kBlock / 32;

// Returns both sums over the block to all threads. All threads must call it.
__device__ static float2 block_sums(float2 v) {
  __shared__ float2 warps[kWarps];
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    v = {v.x + __shfl_xor_sync(0xffffffff, v.x, mask), v.y + __shfl_xor_sync(0xffffffff, v.y, mask)};
  }
  if (lane == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = warps[lane % kWarps];
#pragma unroll
  for (int mask = kWarps / 2; mask > 0; mask /= 2) {
    v = {v.x + __shfl_xor_sync(0xffffffff, v.x, mask), v.y + __shfl_xor_sync(0xffffffff, v.y, mask)};
  }
  return v;
}

// A block has `height` rows, starting at row blockIdx.x * height, and two rows of partials. Its column sums are in
// shared memory if they fit, else in those rows. A thread always has the same columns, so only block_sums needs
// barriers.
__global__ void layer_norm_grad_sums_reused(const float* __restrict__ x, const float* __restrict__ dy,
                                            const float* __restrict__ gamma, const float* __restrict__ mean,
                                            const float* __restrict__ rstd, float* __restrict__ dx, float* partials,
                                            std::size_t rows, unsigned cols, std::size_t height, bool fits) {
  extern __shared__ float columns[];
  const std::size_t begin = blockIdx.x * height, end = min(begin + height, rows);
  partials += 2 * blockIdx.x * std::size_t{cols};
  float *const of_gamma = fits ? columns : partials, *const of_beta = of_gamma + cols;
  for (unsigned c = threadIdx.x; c < cols; c += kBlock) of_gamma[c] = of_beta[c] = 0.0f;

  for (std::size_t r = begin; r < end; ++r) {
    const float m = mean[r], s = rstd[r];
    const float *const x_row = x + r * cols, *const dy_row = dy + r * cols;
    float* const dx_row = dx + r * cols;

    // sums of g and of g x^
    float2 sums = {0.0f, 0.0f};
    for (unsigned c = threadIdx.x; c < cols; c += kBlock) {
      const float g = dy_row[c] * gamma[c];
      sums = {sums.x + g, sums.y + g * ((x_row[c] - m) * s)};
    }
    sums = block_sums(sums);
    const float mean_g = sums.x / cols, mean_gv = sums.y / cols;

    // store dx, add to the column sums
    for (unsigned c = threadIdx.x; c < cols; c += kBlock) {
      const float d = dy_row[c], v = (x_row[c] - m) * s;
      dx_row[c] = s * (d * gamma[c] - mean_g - v * mean_gv);
      of_gamma[c] += d * v;
      of_beta[c] += d;
    }
  }

  if (!fits) return;
  for (unsigned c = threadIdx.x; c < cols; c += kBlock) partials[c] = of_gamma[c], partials[cols + c] = of_beta[c];
}

static void launch(const float* x, const float* dy, const float* gamma, const float* mean, const float* rstd, float* dx,
                   float* dgamma, float* dbeta, std::size_t rows, std::size_t cols) {
  if (cols == 0) return;  // a grid of 0 blocks is an error
  const auto kernel = layer_norm_grad_sums_reused;
  const std::size_t bytes = column_bytes(cols);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const std::size_t height = ceil_div(std::max<std::size_t>(rows, 1), resident_blocks(kernel, kBlock, bytes));
  const std::size_t slices = ceil_div(rows, height);  // no slice is empty
  float* partials = scratch<float>(2 * slices * cols);
  if (rows > 0) {
    kernel<<<static_cast<unsigned>(slices), kBlock, bytes>>>(x, dy, gamma, mean, rstd, dx, partials, rows,
                                                             static_cast<unsigned>(cols), height, bytes > 0);
    CUDA_CHECK(cudaGetLastError());
  }
  add_partials(partials, dgamma, dbeta, slices, cols);
}

// A thread's additions, 5 levels of a warp's tree and 3 over the warps.
static std::size_t height(std::size_t cols) { return ceil_div(cols, kBlock) + 8; }

LADDER_STEP(LayerNormGrad, launch, height);
